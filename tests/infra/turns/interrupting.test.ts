import { describe, expect, test } from "@jest/globals";
import { QueueMode } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { calls, fails, gate, hang, hangsBeforeHead, says, streams, text } from "../../support/model-server.js";
import { report } from "../../support/test-tools.js";
import { endOf, textsIn, valuesOf, type WatchedTurn } from "../../support/turn-client.js";
import { refusedBy } from "../rpc/protocols.js";
import { kindsOf, Stage } from "./stage.js";

const stage = new Stage();
const queueMode = QueueMode.INTERRUPT_AFTER_CURRENT_TOOL;
const lookUp = (id: string, city: string) => ({ id, name: "weather_look_up", arguments: JSON.stringify({ city }) });

/** Interrupts, and answers both turns once they are over. */
async function interrupt(turn: WatchedTurn) {
  const { threadId } = turn.events[0]!;
  const next = stage.phone.begin({ threadId, userText: "No, wait.", queueMode });
  await Promise.all([turn.ended, next.ended]);
  const [failed] = valuesOf(turn.events, "turnFailed");
  expect(failed).toMatchObject({ code: "TURN_INTERRUPTED", retryable: false });
  expect(kindsOf(turn.events).at(-1)).toBe("turnFailed");
  expect(next.events.at(-1)!.sequence).toBeGreaterThan(turn.events.at(-1)!.sequence);
  return { interrupted: turn.events, next: next.events };
}

async function begin(): Promise<WatchedTurn> {
  const threadId = await stage.phone.newThread();
  return stage.phone.begin({ threadId, userText: "Do something.", clientMessageId: "m" });
}

describe("a turn is interrupted", () => {
  test("while the model talks: it is hung up on, what it has said is void, and the next turn begins", async () => {
    const { model } = stage;
    model.will(streams(text("Once upon a time"), hang), says("Yes?"));
    const turn = await begin();
    await turn.saw("assistantTextDelta");
    const { interrupted, next } = await interrupt(turn);
    await model.abandoned(1);
    expect(valuesOf(interrupted, "modelCallFailed")).toMatchObject([{ reason: "interrupted" }]);
    expect(textsIn(interrupted)).toEqual([]);
    expect(textsIn(next)).toEqual(["Yes?"]);
    expect(model.requests).toHaveLength(2);
  });

  test("before the model has said a word", async () => {
    stage.model.will(hangsBeforeHead, says("Yes?"));
    const turn = await begin();
    await stage.model.asked(1);
    const { next } = await interrupt(turn);
    await stage.model.abandoned(1);
    expect(textsIn(next)).toEqual(["Yes?"]);
  });

  test("while a tool reads: that is finished first, what else was wanted is not begun", async () => {
    const { model, weather, phone } = stage;
    const found = gate();
    let isAborted = false;
    weather.does(async (_args, { signal }) => {
      await found.opened;
      isAborted = signal.aborted;
      return report("It rains.");
    });
    model.will(calls(lookUp("1", "Bern"), lookUp("2", "Basel")), says("Yes?"));
    const turn = await begin();
    await turn.saw("toolExecutionStarted");
    await weather.started(1);
    const ended = interrupt(turn);
    await phone.until(turn.events[0]!.threadId, "turnInterruptRequested");
    expect(endOf(turn.events)).toBe("not at all");
    found.open();
    const { interrupted, next } = await ended;
    expect(isAborted).toBe(false);
    expect(valuesOf(interrupted, "toolExecutionFinished")).toMatchObject([{ result: "It rains.", failed: false }]);
    expect(kindsOf(interrupted).slice(-3)).toEqual(["toolExecutionFinished", "threadTitled", "turnFailed"]);
    expect(weather.runs).toBe(1);
    expect(model.requests).toHaveLength(2);
    expect(textsIn(next)).toEqual(["Yes?"]);
  });

  test("while it waits to ask again", async () => {
    stage.model.will(fails(429, { "retry-after": "25" }), says("Yes?"));
    const turn = await begin();
    await turn.saw("modelCallRetried");
    const { interrupted, next } = await interrupt(turn);
    expect(valuesOf(interrupted, "modelCallStarted")).toHaveLength(1);
    expect(textsIn(next)).toEqual(["Yes?"]);
  });

  test("and who waits for it by SendTurn is told", async () => {
    const { phone, model } = stage;
    model.will(streams(text("Once"), hang), says("Yes?"));
    const threadId = await phone.newThread();
    const sent = refusedBy(phone.turns.sendTurn({ threadId, userText: "Tell me a story." }));
    await phone.until(threadId, "assistantTextDelta");
    await phone.turn({ threadId, userText: "No.", queueMode });
    expect(await sent).toMatchObject({ refusal: "turn_failed", facts: { code: "TURN_INTERRUPTED" } });
  });

  test("once, by however many; they come after those that wait already", async () => {
    const { phone, model, weather } = stage;
    const found = gate();
    weather.does(async () => (await found.opened, report("It rains.")));
    model.will(calls(lookUp("1", "Bern")));
    model.otherwise(says("Yes?"));
    const turn = await begin();
    await turn.saw("toolExecutionStarted");
    const { threadId } = turn.events[0]!;
    const others = [phone.begin({ threadId, userText: "patient" })];
    await phone.until(threadId, "turnQueued");
    for (const userText of ["first", "second"]) {
      others.push(phone.begin({ threadId, userText, queueMode }));
      await phone.until(threadId, "turnQueued", others.length);
    }
    found.open();
    await Promise.all([turn, ...others].map((one) => one.ended));
    const events = await phone.replay(threadId);
    expect(valuesOf(events, "turnInterruptRequested")).toMatchObject([{ turnId: turn.events[0]!.turnId }]);
    expect(valuesOf(events, "turnFailed")).toHaveLength(1);
    const asked = stage.questions.map((shown) => shown.at(-1)!.content);
    expect(asked).toEqual(["Do something.", "patient", "first", "second"]);
  });
});

describe("a message that would interrupt", () => {
  test("interrupts nothing when there is nothing: it just begins", async () => {
    const { phone, model } = stage;
    model.will(says("Yes?"), says("Yes!"));
    const threadId = await phone.newThread();
    for (const userText of ["Hello?", "Hello!"]) {
      const events = await phone.turn({ threadId, userText, queueMode });
      expect(kindsOf(events).slice(0, 2)).toEqual(["messageCommitted", "turnStarted"]);
      expect(endOf(events)).toBe("completed");
    }
    expect(kindsOf(await phone.replay(threadId))).not.toContain("turnInterruptRequested");
  });

  test("interrupts its own thread only", async () => {
    const { phone, model } = stage;
    const held = gate();
    model.will(streams(text("Elsewhere"), held.opened, hang), streams(text("Here"), hang), says("Yes?"));
    const elsewhere = await begin();
    await elsewhere.saw("assistantTextDelta");
    const here = await begin();
    await here.saw("assistantTextDelta");
    await interrupt(here);
    await model.abandoned(1);
    expect(model.cuts).toBe(1);
    expect(endOf(elsewhere.events)).toBe("not at all");
    await phone.threads.deleteThread({ threadId: elsewhere.events[0]!.threadId });
    await elsewhere.ended;
  });
});
