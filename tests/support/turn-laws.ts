import { expect } from "@jest/globals";
import { PolicyDecision } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { deltasIn, valuesOf } from "./turn-client.js";

const ends = ["turnCompleted", "turnFailed"];

/** What holds in every thread, whatever its model did. */
export function expectLawfulThread(events: readonly ThreadEvent[]): void {
  expect(events.map(({ sequence }) => Number(sequence))).toEqual(events.map((_, index) => index + 1));
  const turnIds = new Set(events.map(({ turnId }) => turnId));
  for (const turnId of turnIds) {
    const ofTurn = events.filter((event) => event.turnId === turnId);
    if (turnId === "") expect(ofTurn.filter((event) => !isOfNoTurn(event))).toEqual([]);
    else expectLawfulTurn(ofTurn);
  }
}

/** What holds for every turn that is over, however it ended. */
export function expectLawfulTurn(events: readonly ThreadEvent[]): void {
  const kinds = events.map(kindOf);
  expect(new Set(events.map(({ turnId }) => turnId)).size).toBe(1);
  expect(kinds[0]).toBe("messageCommitted");
  expect(["turnStarted", "turnQueued"]).toContain(kinds[1]);
  expect(kinds.filter((kind) => kind === "turnStarted" || kind === "turnBudgetApplied")).toHaveLength(2);
  expect(kinds.filter((kind) => ends.includes(kind))).toEqual(kinds.slice(-1));
  expectEachCallToEndOnce(events);
  expectTextsToBeTheirDeltas(events);
  expectNoToolWithoutPolicy(events);
}

/** One question at a time; each is answered or fails, once; and what comes of it comes in between. */
function expectEachCallToEndOnce(events: readonly ThreadEvent[]): void {
  const asked = new Set<string>();
  let open = "";
  for (const { payload } of events) {
    switch (payload.case) {
      case "modelCallStarted":
        expect(open).toBe("");
        expect(asked).not.toContain(payload.value.callId);
        open = payload.value.callId;
        asked.add(open);
        break;
      case "assistantTextDelta":
      case "assistantThinkingDelta":
        expect(payload.value.segmentId).toBe(open);
        break;
      case "modelCallFinished":
      case "modelCallFailed":
        expect(payload.value.callId).toBe(open);
        open = "";
        break;
      default:
        break;
    }
  }
  expect(open).toBe("");
}

function expectTextsToBeTheirDeltas(events: readonly ThreadEvent[]): void {
  const finished = valuesOf(events, "modelCallFinished").map(({ callId }) => callId);
  const committed = valuesOf(events, "assistantMessageCommitted");
  expect(new Set(committed.map(({ segmentId }) => segmentId)).size).toBe(committed.length);
  for (const { segmentId, fullText } of committed) {
    expect(finished).toContain(segmentId);
    expect(deltasIn(events, segmentId).join("") === fullText).toBe(true); // Without showing a megabyte if it is not.
  }
  for (const { assistantMessageId } of valuesOf(events, "turnCompleted")) {
    expect(assistantMessageId).toBe(committed.at(-1)?.messageId);
  }
}

/**
 * Each call that is wanted is judged, once; only what is allowed is begun, and then ends, once; and of what needs approval
 * the model is told what became of it, once, and it is never begun here.
 */
function expectNoToolWithoutPolicy(events: readonly ThreadEvent[]): void {
  const planned = valuesOf(events, "toolCallPlanned").map(({ toolCallId }) => toolCallId);
  const decisions = valuesOf(events, "policyDecisionMade");
  const started = valuesOf(events, "toolExecutionStarted").map(({ toolCallId }) => toolCallId);
  const finished = valuesOf(events, "toolExecutionFinished");
  const used = finished.filter(({ executionId }) => executionId !== "").map(({ toolCallId }) => toolCallId);
  const settled = finished.filter(({ executionId }) => executionId === "").map(({ toolCallId }) => toolCallId);
  const allowed = decisions.filter(({ decision }) => decision === PolicyDecision.ALLOW_INTERNAL);
  const proposed = decisions.filter(({ decision }) => decision === PolicyDecision.REQUIRE_APPROVAL);
  expect(decisions.map(({ toolCallId }) => toolCallId)).toEqual(planned);
  expect(new Set(planned).size).toBe(planned.length);
  expect(allowed.map(({ toolCallId }) => toolCallId)).toEqual(expect.arrayContaining(started));
  expect(used).toEqual(started);
  expect(proposed.map(({ toolCallId }) => toolCallId)).toEqual(expect.arrayContaining(settled));
  expect(new Set(settled).size).toBe(settled.length);
  const actions = valuesOf(events, "proposedActionCreated").map(({ actionId }) => actionId);
  expect(actions).toEqual(proposed.map(({ actionId }) => actionId));
}

/** Summaries are written between turns, and what the owner decides about an action is between them, too. */
function isOfNoTurn({ stream }: ThreadEvent): boolean {
  return ["thread-", "summaries-", "action-", "notification-"].some((kind) => stream.startsWith(kind));
}

function kindOf({ payload }: ThreadEvent): string {
  return payload.case ?? "nothing";
}
