import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { minute } from "../../../domain/shared/index.js";
import { systemClock } from "../../../infra/ports/system-clock.js";
import { ApprovalsService } from "../../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { QueueMode } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import * as it from "../../support/model-server.js";
import { Outlet, outletTool } from "../../support/outlet.js";
import { endOf, textsIn, valuesOf, type WatchedTurn } from "../../support/turn-client.js";
import { turnBench } from "./turn-bench.js";

const bench = turnBench();
let outlet: Outlet;

beforeEach(async () => {
  outlet = await Outlet.listen();
  await bench.start({ tools: [outletTool(outlet.url)], hasFallback: false });
});
afterEach(() => {
  outlet.close();
});

const posting = (text: string, id = "call_1") => ({
  ...{ id, name: "outlet_post", arguments: JSON.stringify({ to: "ada", text }) },
});

/** What the turn has proposed so far. */
function actionsOf({ events }: WatchedTurn): string[] {
  return valuesOf(events, "proposedActionCreated").map(({ actionId }) => actionId);
}

async function approve(actionId: string): Promise<void> {
  const approvals = bench.client(ApprovalsService);
  const { approval } = await approvals.getApproval({ actionId });
  await approvals.approveAction({ actionId, cardHash: approval!.cardHash });
}

/** A turn that waits for the owner, in a thread of its own. */
async function pausedTurn(...calls: ReturnType<typeof posting>[]): Promise<WatchedTurn> {
  bench.model.will(it.calls(...calls));
  const turn = bench.begin(await bench.newThread(), "Tell Ada.", { clientMessageId: "1" });
  await turn.saw("turnPaused");
  return turn;
}

const threadOf = ({ events }: WatchedTurn) => events[0]!.threadId;

/** What the model was told of its calls when it was asked last. */
function toldLast(): string[] {
  const { messages } = bench.model.requests.at(-1)!.body;
  return messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}

describe("a turn that has proposed something", () => {
  test("pauses; and goes on once all of it is settled, and the model is told what became of each", async () => {
    const turn = await pausedTurn(posting("hello", "1"), posting("goodbye", "2"));
    const [first, second] = actionsOf(turn) as [string, string];
    expect(valuesOf(turn.events, "turnPaused")).toMatchObject([
      { pendingActionCount: 2, stepsUsed: 1, stepsRemaining: 9, turnId: turn.events[0]!.turnId },
    ]);
    expect(valuesOf(turn.events, "notificationQueued").map(({ resourceId }) => resourceId)).toEqual([first, second]);
    bench.model.will(it.says("Half of it."));
    await approve(first);
    await bench.client(ApprovalsService).rejectAction({ actionId: second, reason: "Not now." });
    const events = await bench.ended(turn);
    expect(textsIn(events)).toEqual(["Half of it."]);
    expect(toldLast()).toEqual([
      expect.stringMatching(/^It was done\./),
      "It failed.\nThe owner rejected it. Nothing was done. Their reason: Not now.",
    ]);
    const [resumed] = valuesOf(events, "turnResumed");
    expect(resumed).toMatchObject({ resumedReason: "actions_settled", stepsUsed: 1, stepsRemaining: 9 });
    expect(resumed!.stepEndsAt).toBeUndefined();
    const { stream } = events.find(({ payload }) => payload.case === "turnResumed")!;
    expect(stream).toBe(`turns-${threadOf(turn)}`);
    expect(outlet.ledger).toMatchObject([{ to: "ada", text: "hello" }]);
  });

  test.each([QueueMode.QUEUE_AFTER_TURN, QueueMode.REJECT_IF_BUSY, QueueMode.INTERRUPT_AFTER_CURRENT_TOOL])(
    "leaves its thread to others meanwhile, and is not interrupted by them (%s)",
    async (queueMode) => {
      const turn = await pausedTurn(posting("hello"));
      bench.model.will(it.says("Something else."));
      const other = await bench.say(threadOf(turn), "Something else?", { queueMode });
      expect(textsIn(other)).toEqual(["Something else."]);
      bench.model.will(it.says("Done."));
      await approve(actionsOf(turn)[0]!);
      expect(textsIn(await bench.ended(turn))).toEqual(["Done."]);
      expect(outlet.ledger).toHaveLength(1);
    },
  );

  test("lets those that wait for it begin when it pauses, and goes on when they are over", async () => {
    const { model } = bench;
    const held = it.gate();
    const call = posting("hello");
    model.will(it.streams(it.toolCall({ index: 0, ...call }), held.opened, it.finish("tool_calls"), it.done));
    const threadId = await bench.newThread();
    const turn = bench.begin(threadId, "Tell Ada.");
    await model.asked(1);
    const later = it.gate();
    model.will(it.streams(it.text("Now "), later.opened, it.text("me."), it.finish("stop"), it.usage(), it.done));
    const next = bench.begin(threadId, "And me?");
    await next.saw("turnQueued");
    held.open();
    await next.saw("assistantTextDelta");
    await approve(actionsOf(turn)[0]!);
    model.will(it.says("Done."));
    expect(valuesOf(turn.events, "turnResumed")).toEqual([]);
    later.open();
    expect(textsIn(await bench.ended(next))).toEqual(["Now me."]);
    const events = await bench.ended(turn);
    expect(textsIn(events)).toEqual(["Done."]);
    const resumed = events.find(({ payload }) => payload.case === "turnResumed")!;
    expect(resumed.sequence).toBeGreaterThan(next.events.at(-1)!.sequence);
  });

  test("is still paused after a restart, and goes on after the decision, also one that came just before", async () => {
    let awayMillis = 0;
    const clock = { now: () => systemClock.now() + awayMillis };
    const turn = await pausedTurn(posting("hello"));
    const threadId = threadOf(turn);
    await bench.stop();
    await bench.start({ clock });
    expect(bench.model.requests).toHaveLength(1);
    bench.model.otherwise(it.says("Done.")); // Perhaps it was asked already when the server is stopped.
    await approve(actionsOf(turn)[0]!);
    await bench.stop();
    awayMillis = 2 * minute; // Perhaps it was stopped in the middle of it: then that is clear.
    await bench.start();
    const events = await bench.say(threadId, "Tell Ada.", { clientMessageId: "1" });
    expect(endOf(events)).toBe("completed");
    expect(outlet.ledger).toHaveLength(1);
  });
});
