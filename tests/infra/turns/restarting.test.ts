import { describe, expect, test } from "@jest/globals";
import { hour, minute, second, toTimestamp } from "../../../domain/shared/index.js";
import { QueueMode } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { calls, fails, gate, hang, hangsBeforeHead, says, streams, text } from "../../support/model-server.js";
import { hangs, report } from "../../support/test-tools.js";
import { endOf, textsIn, valuesOf, type WatchedTurn } from "../../support/turn-client.js";
import { movableClock } from "../rpc/movable-clock.js";
import { codeOf, kindsOf, ofTurn, Stage, type Shown } from "./stage.js";

const clock = movableClock();
const stage = new Stage({}, { clock });
const lookUp = { id: "1", name: "weather_look_up", arguments: '{"city":"Bern"}' };
const message = { userText: "How is the weather?", clientMessageId: "m" };

async function begin(asked = {}): Promise<WatchedTurn> {
  return stage.phone.begin({ threadId: await stage.phone.newThread(), ...message, ...asked });
}

/** Stops the server in the middle of a turn and starts it again; answers all events of the turn once it has ended. */
async function goesOnAfterRestart({ events }: WatchedTurn) {
  const { threadId } = events[0]!;
  await stage.restart();
  return stage.phone.turn({ threadId, ...message });
}

/** What a model is shown, with names for what is different in every thread. */
function renamed(questions: readonly Shown[][]): unknown {
  const names = new Map<string, string>();
  const nameOf = (id: string) => names.get(id) ?? names.set(id, `id ${names.size}`).get(id)!;
  const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gu;
  return JSON.parse(JSON.stringify(questions).replaceAll(uuid, nameOf));
}

/** The questions of the same turn when nobody stops the server. */
async function questionsWithoutRestart(): Promise<Shown[][]> {
  const before = stage.questions.length;
  stage.model.will(calls(lookUp), says("It is sunny."));
  const turn = await begin();
  await turn.ended;
  expect(endOf(turn.events)).toBe("completed");
  return stage.questions.slice(before);
}

describe("a turn goes on where it was when the server was stopped,", () => {
  test("in the middle of the first answer: the question is asked again", async () => {
    const usual = await questionsWithoutRestart();
    stage.model.will(streams(text("I will"), hang), calls(lookUp), says("It is sunny."));
    const turn = await begin();
    await turn.saw("assistantTextDelta");
    const events = await goesOnAfterRestart(turn);
    const { turnId } = events[0]!;
    const stepEndsAt = toTimestamp(clock.now() + minute);
    expect(valuesOf(events, "turnResumed")).toMatchObject([
      { turnId, resumedReason: "server_restarted", stepsUsed: 0, stepsRemaining: 10, stepEndsAt },
    ]);
    const resumed = events.find(({ payload }) => payload.case === "turnResumed")!;
    expect(resumed.stream).toBe(`turn-${turnId}`);
    const { provider, model } = valuesOf(events, "modelCallStarted")[0]!;
    expect(valuesOf(events, "modelCallFailed")).toMatchObject([{ reason: "server_stopped", provider, model }]);
    expect(valuesOf(events, "modelCallStarted").map(({ step, attempt }) => [step, attempt])).toEqual([
      ...[
        [1, 1],
        [1, 2],
        [2, 1],
      ],
    ]);
    expect(textsIn(events)).toEqual(["It is sunny."]);
    expect(stage.weather.runs).toBe(2);
    const [cut, ...asked] = stage.questions.slice(usual.length);
    expect(renamed(asked)).toEqual(renamed(usual));
    expect(renamed([cut!])).toEqual(renamed(usual.slice(0, 1)));
  });

  test("in the middle of a later answer: what is recorded is not asked again, and no tool is used again", async () => {
    const usual = await questionsWithoutRestart();
    stage.model.will(calls(lookUp), hangsBeforeHead, says("It is sunny."));
    const turn = await begin();
    await stage.model.asked(usual.length + 2);
    const events = await goesOnAfterRestart(turn);
    expect(valuesOf(events, "turnResumed")).toMatchObject([{ stepsUsed: 1, stepsRemaining: 9 }]);
    expect(endOf(events)).toBe("completed");
    expect(stage.weather.runs).toBe(2);
    const [first, cut, again] = stage.questions.slice(usual.length);
    expect(renamed([first!, again!])).toEqual(renamed(usual));
    expect(again).toEqual(cut);
    expect(stage.model.requests).toHaveLength(usual.length + 3);
  });

  test("in the middle of a tool that reads: it reads again, and the model is not asked again", async () => {
    const usual = await questionsWithoutRestart();
    stage.weather.does(hangs);
    stage.model.will(calls(lookUp), says("It is sunny."));
    const turn = await begin();
    await stage.weather.started(2);
    stage.weather.does(async ({ city }) => report(`It is sunny in ${city}.`));
    const events = await goesOnAfterRestart(turn);
    expect(valuesOf(events, "turnResumed")).toHaveLength(1);
    expect(valuesOf(events, "toolExecutionStarted")).toHaveLength(1);
    expect(valuesOf(events, "toolExecutionFinished")).toMatchObject([{ failed: false }]);
    expect(valuesOf(events, "modelCallFailed")).toEqual([]);
    expect(stage.weather.runs).toBe(3);
    expect(renamed(stage.questions.slice(usual.length))).toEqual(renamed(usual));
  });

  test.each([
    ["for the rest of the time, and asks", 25 * second],
    ["no longer where the server was away for long, and asks", hour],
  ])("between two attempts: it waits %s", async (_how, millis) => {
    const usual = await questionsWithoutRestart();
    stage.model.will(fails(429, { "retry-after": "25" }), calls(lookUp), says("It is sunny."));
    const turn = await begin();
    await turn.saw("modelCallRetried");
    clock.forward(millis);
    const events = await goesOnAfterRestart(turn);
    expect(valuesOf(events, "turnResumed")).toMatchObject([{ stepEndsAt: toTimestamp(clock.now() + minute) }]);
    expect(endOf(events)).toBe("completed");
    expect(valuesOf(events, "modelCallFailed")).toMatchObject([{ reason: "rate_limited" }]);
    expect(renamed(stage.questions.slice(usual.length + 1))).toEqual(renamed(usual));
  });

  test("again and again, with no more steps than it had", async () => {
    const { model } = stage;
    const requestedBudget = { maxToolSteps: 3 };
    model.will(calls(lookUp), hangsBeforeHead);
    const turn = await begin({ requestedBudget });
    await model.asked(2);
    const { threadId } = turn.events[0]!;
    model.will(calls(lookUp), hangsBeforeHead, calls(lookUp), calls(lookUp));
    await stage.restart();
    await model.asked(4);
    await stage.restart();
    const events = await stage.phone.turn({ threadId, ...message });
    expect(valuesOf(events, "turnResumed").map(({ stepsRemaining }) => stepsRemaining)).toEqual([2, 1]);
    expect(valuesOf(events, "modelCallStarted").map(({ step }) => step)).toEqual([1, 2, 2, 3, 3, 3]);
    expect(endOf(events)).toBe("TURN_STEP_LIMIT");
    const offered = model.requests.map(({ body }) => body["tool_choice"] !== "none");
    expect(offered).toEqual([true, true, true, false, false, false]);
  });

  test("but not for ever: a step that never gets to its end is given up, and those behind it come", async () => {
    stage.model.otherwise(hangsBeforeHead);
    const turn = await begin();
    await stage.model.asked(1);
    const { threadId } = turn.events[0]!;
    await stage.phone.leave({ threadId, userText: "And me?", clientMessageId: "next" });
    for (let losses = 1; losses <= 10; losses++) {
      await stage.restart();
      await stage.model.asked(losses + 1);
    }
    stage.model.otherwise(says("Yes."));
    const events = await goesOnAfterRestart(turn);
    expect(endOf(events)).toBe("TURN_LOST");
    expect(valuesOf(events, "turnResumed")).toHaveLength(11);
    expect(valuesOf(events, "modelCallFailed")).toHaveLength(11);
    expect(valuesOf(events, "modelCallRetried")).toHaveLength(10);
    expect(textsIn(await stage.phone.turn({ threadId, userText: "And me?", clientMessageId: "next" }))).toEqual([
      "Yes.",
    ]);
  });
});

describe("a tool that brings the server down again and again", () => {
  test("is not used for ever", async () => {
    const { model, weather } = stage;
    weather.does(hangs);
    model.will(calls(lookUp));
    const turn = await begin();
    for (let runs = 1; runs <= 11; runs++) {
      await weather.started(runs);
      if (runs <= 10) await stage.restart();
    }
    const events = await goesOnAfterRestart(turn);
    expect(endOf(events)).toBe("TURN_LOST");
    expect(valuesOf(events, "turnResumed")).toHaveLength(11);
    expect(valuesOf(events, "toolExecutionStarted")).toHaveLength(1);
    expect(weather.runs).toBe(11);
    expect(model.requests).toHaveLength(1);
  });
});

describe("after a restart", () => {
  test("those that waited come in their order", async () => {
    const { model } = stage;
    model.will(streams(text("I will"), hang));
    const turn = await begin();
    await turn.saw("assistantTextDelta");
    const { threadId } = turn.events[0]!;
    for (const userText of ["one", "two", "three"]) await stage.phone.leave({ threadId, userText });
    model.otherwise(says("Yes."));
    await stage.restart();
    await stage.phone.until(threadId, "turnCompleted", 4);
    const asked = stage.questions.map((shown) => shown.at(-1)!.content);
    expect(asked).toEqual([message.userText, message.userText, "one", "two", "three"]);
  });

  test("a turn that was to be interrupted is, and its tool is not used again", async () => {
    const { model, weather } = stage;
    weather.does(hangs);
    model.will(calls(lookUp), says("Yes?"));
    const turn = await begin();
    await weather.started(1);
    const { threadId } = turn.events[0]!;
    const next = { threadId, userText: "No, wait.", clientMessageId: "next" };
    await stage.phone.leave({ ...next, queueMode: QueueMode.INTERRUPT_AFTER_CURRENT_TOOL });
    await stage.phone.until(threadId, "turnInterruptRequested");
    expect(endOf(await goesOnAfterRestart(turn))).toBe("TURN_INTERRUPTED");
    expect(textsIn(await stage.phone.turn(next))).toEqual(["Yes?"]);
    expect(weather.runs).toBe(1);
  });

  test("a client that was cut off goes on by its cursor, without a gap or a repeat", async () => {
    stage.model.will(streams(text("I will"), hang), says("It is sunny."));
    const turn = await begin();
    await turn.saw("assistantTextDelta");
    const { threadId, turnId } = turn.events[0]!;
    const ended = codeOf(turn.ended);
    await stage.restart();
    expect(await ended).toBe("Unavailable");
    const resumeFromSequence = turn.events.at(-1)!.sequence;
    const rest = await stage.phone.turn({ threadId, ...message, resumeFromSequence });
    expect(kindsOf(rest)[0]).toBe("turnResumed");
    expect([...turn.events, ...rest]).toEqual(ofTurn(turnId, await stage.phone.replay(threadId)));
  });

  test("a turn that is over stays over", async () => {
    stage.model.will(says("Done."));
    const turn = await begin();
    await turn.ended;
    expect(await goesOnAfterRestart(turn)).toEqual(turn.events);
    expect(stage.model.requests).toHaveLength(1);
  });
});

describe("a server that is told to stop", () => {
  test("does not wait for a tool that does not listen", async () => {
    const found = gate();
    stage.weather.does(async () => (await found.opened, report("It rains.")));
    stage.model.will(calls(lookUp));
    await begin();
    await stage.weather.started(1);
    const stopped = stage.server.stop().then(() => "stopped");
    const waited = new Promise((resolve) => setTimeout(resolve, second, "still waiting"));
    const first = await Promise.race([stopped, waited]);
    found.open();
    expect(first).toBe("stopped");
  });
});
