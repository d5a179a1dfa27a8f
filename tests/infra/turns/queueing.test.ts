import { describe, expect, test } from "@jest/globals";
import { turnsWaitingMax } from "../../../domain/threads/index.js";
import { QueueMode } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { done, finish, gate, says, streams, text, usage } from "../../support/model-server.js";
import { endOf, textsIn, valuesOf, type WatchedTurn } from "../../support/turn-client.js";
import { refusedBy } from "../rpc/protocols.js";
import { kindsOf, ofTurn, Stage } from "./stage.js";

const stage = new Stage();

/** A thread whose turn goes on until somebody opens. */
async function busyThread(): Promise<{ threadId: string; turn: WatchedTurn; open: () => void }> {
  const held = gate();
  stage.model.will(streams(text("Let me "), held.opened, text("think."), finish("stop"), usage(), done));
  const threadId = await stage.phone.newThread();
  const turn = stage.phone.begin({ threadId, userText: "Think.", clientMessageId: "busy" });
  await turn.saw("assistantTextDelta");
  return { threadId, turn, open: held.open };
}

describe("while a turn is in progress", () => {
  test("REJECT_IF_BUSY is refused, and leaves nothing", async () => {
    const { phone, model } = stage;
    const { threadId, turn, open } = await busyThread();
    const before = await phone.replay(threadId);
    const asked = { threadId, userText: "Me too", clientMessageId: "m", queueMode: QueueMode.REJECT_IF_BUSY };
    expect(await refusedBy(phone.turn(asked))).toEqual({
      code: "FailedPrecondition",
      refusal: "turn_in_progress",
      facts: { turnId: turn.events[0]!.turnId },
    });
    expect(await phone.replay(threadId)).toEqual(before);
    open();
    await turn.ended;
    model.will(says("Yes?"));
    expect(textsIn(await phone.turn(asked))).toEqual(["Yes?"]);
  });

  test("REJECT_IF_BUSY is no reason to refuse the very message that it is about", async () => {
    const { threadId, turn, open } = await busyThread();
    const queueMode = QueueMode.REJECT_IF_BUSY;
    const again = stage.phone.begin({ threadId, userText: "Think.", clientMessageId: "busy", queueMode });
    await again.saw("assistantTextDelta");
    open();
    await Promise.all([turn.ended, again.ended]);
    expect(again.events).toEqual(turn.events);
  });

  test("other threads do not wait", async () => {
    const { turn, open } = await busyThread();
    stage.model.will(says("At once."));
    const queueMode = QueueMode.REJECT_IF_BUSY;
    const threadId = await stage.phone.newThread();
    expect(textsIn(await stage.phone.turn({ threadId, userText: "Hello", queueMode }))).toEqual(["At once."]);
    expect(endOf(turn.events)).toBe("not at all");
    open();
    await turn.ended;
  });

  test.each([QueueMode.QUEUE_AFTER_TURN, QueueMode.QUEUE_MODE_UNSPECIFIED])(
    "what comes then waits for its end, and its stream with it (%i)",
    async (queueMode) => {
      const { threadId, turn, open } = await busyThread();
      stage.model.will(says("Now you."));
      const next = stage.phone.begin({ threadId, userText: "And me?", queueMode });
      await next.saw("turnQueued");
      expect(valuesOf(next.events, "turnQueued")).toMatchObject([{ behindTurnId: turn.events[0]!.turnId }]);
      expect(stage.model.requests).toHaveLength(1);
      open();
      await Promise.all([turn.ended, next.ended]);
      expect(kindsOf(next.events).slice(0, 4)).toEqual([
        ...["messageCommitted", "turnQueued", "turnStarted", "turnBudgetApplied"],
      ]);
      expect(textsIn(next.events)).toEqual(["Now you."]);
      expect(next.events.at(-1)!.sequence).toBeGreaterThan(turn.events.at(-1)!.sequence);
    },
  );

  test("two devices at once come in the order of the log, each with its own stream", async () => {
    const { threadId, turn, open } = await busyThread();
    const devices = [stage.phone, await stage.pairAnother()];
    stage.model.otherwise((exchange) =>
      says(`To: ${String(exchange.request.body.messages.at(-1)!["content"])}`)(exchange),
    );
    const texts = ["1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b"];
    const turns = texts.map((userText, index) => devices[index % 2]!.begin({ threadId, userText }));
    await Promise.all(turns.map((one) => one.saw("turnQueued")));
    open();
    await Promise.all([turn, ...turns].map((one) => one.ended));

    const events = await stage.phone.replay(threadId);
    const said = valuesOf(events, "messageCommitted").map((message) => message.text);
    const queued = valuesOf(events, "turnQueued").map(({ turnId }) => turnId);
    expect(said.slice(1).sort()).toEqual(texts);
    expect(valuesOf(events, "turnStarted").map(({ turnId }) => turnId)).toEqual([turn.events[0]!.turnId, ...queued]);
    expect(textsIn(events)).toEqual(["Let me think.", ...said.slice(1).map((one) => `To: ${one}`)]);
    for (const [index, one] of turns.entries()) {
      expect(one.events).toEqual(ofTurn(one.events[0]!.turnId, events));
      expect(textsIn(one.events)).toEqual([`To: ${texts[index]}`]);
    }
  });

  test("as many wait as may, and no more; when one has begun there is room again", async () => {
    const { phone } = stage;
    const { threadId, turn, open } = await busyThread();
    const next = gate();
    stage.model.will(streams(next.opened, text("Next."), finish("stop"), usage(), done));
    stage.model.otherwise(says("Yes."));
    const waiting = Array.from({ length: turnsWaitingMax }, (_, index) =>
      phone.begin({ threadId, userText: `number ${index}` }),
    );
    await Promise.all(waiting.map((one) => one.saw("turnQueued")));
    const before = await phone.replay(threadId);
    for (const queueMode of [QueueMode.QUEUE_AFTER_TURN, QueueMode.INTERRUPT_AFTER_CURRENT_TOOL]) {
      expect(await refusedBy(phone.turn({ threadId, userText: "One more", queueMode }))).toEqual({
        code: "ResourceExhausted",
        refusal: "turn_queue_full",
        facts: { turnsWaitingMax: String(turnsWaitingMax) },
      });
    }
    expect(await refusedBy(phone.turns.sendTurn({ threadId, userText: "One more" }))).toMatchObject({
      refusal: "turn_queue_full",
    });
    expect(await phone.replay(threadId)).toEqual(before);
    open();
    await turn.ended;
    const late = phone.begin({ threadId, userText: "Now?" });
    await late.saw("turnQueued");
    next.open();
    await Promise.all([...waiting, late].map((one) => one.ended));
    expect(endOf(late.events)).toBe("completed");
  });
});

describe("a value that nobody knows is refused, and leaves nothing:", () => {
  test.each<[string, object]>([
    ["queue_mode", { queueMode: 4 }],
    ["queue_mode", { queueMode: -1 }],
    ["reasoning_visibility", { reasoningVisibility: 4 }],
    ["trigger_type", { triggerType: 99 }],
  ])("%s", async (field, unknown) => {
    const { phone } = stage;
    const threadId = await phone.newThread();
    const refused = { code: "InvalidArgument", refusal: "value_unknown", facts: { field } };
    expect(await refusedBy(phone.turn({ threadId, userText: "Hello", ...unknown }))).toEqual(refused);
    if (field === "trigger_type") {
      expect(await refusedBy(phone.turns.sendTurn({ threadId, userText: "Hello", ...unknown }))).toEqual(refused);
    }
    expect(kindsOf(await phone.replay(threadId))).toEqual(["threadCreated"]);
    expect(stage.model.requests).toEqual([]);
  });

  // The cursor is looked at when the message is committed already.
  test("resume_from_sequence", async () => {
    const { phone } = stage;
    const threadId = await phone.newThread();
    const asked = { threadId, userText: "Hello", resumeFromSequence: 2n ** 64n - 1n };
    expect(await refusedBy(phone.turn(asked))).toMatchObject({ refusal: "sequence_invalid" });
    expect(kindsOf(await phone.replay(threadId))).toEqual(["threadCreated"]);
  });
});
