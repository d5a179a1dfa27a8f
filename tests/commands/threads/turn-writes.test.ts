import { describe, expect, test } from "@jest/globals";
import { turnWrites } from "../../../commands/threads/turn-writes.js";
import type { NewFact } from "../../../domain/shared/index.js";
import { ContentTrust, EventSource } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { delta, titled } from "../../support/facts.js";
import {
  artifactCreated,
  noteWritten,
  turnCompleted,
  turnFailed,
  turnPaused,
  turnResumed,
  turnStarted,
} from "../../support/turn-facts.js";
import {
  asked,
  committed,
  failed,
  finished,
  planned,
  proposed,
  repairAttempted,
  resumed,
  retried,
  used,
  using,
} from "../../support/turn-story.js";

const place = { threadId: "thread-1", turnId: "turn-1" };
const by = { model: "some model", causationId: "call 1" };

const write = (fact: NewFact) => turnWrites(place, [fact], by)[0]!;
const [callPlanned, policyDecided] = planned(1, 1, "look_up") as [NewFact, NewFact];
const [, , actionProposed, ownerTold] = proposed(1, 1, "a@b.example") as [NewFact, NewFact, NewFact, NewFact];
const thinking: NewFact = { case: "assistantThinkingDelta", value: { segmentId: "call 1", delta: "Hm." } };
const budgetApplied: NewFact = { case: "turnBudgetApplied", value: {} };
const readByOthers: NewFact = { case: "toolExecutionFinished", value: { untrusted: true } };

describe("a fact of a turn", () => {
  test.each<[string, NewFact, string]>([
    ["the turn's beginning", turnStarted("turn-1"), "turns-thread-1"],
    ["the turn's budget", budgetApplied, "turns-thread-1"],
    ["its end", turnCompleted("message"), "turns-thread-1"],
    ["its failure", turnFailed("TURN_LOST"), "turns-thread-1"],
    ["its pause", turnPaused("turn-1"), "turns-thread-1"],
    ["its going on, once everything is settled", turnResumed("turn-1"), "turns-thread-1"],
    ["its going on after a restart, of which the others know nothing", resumed(3), "turn-turn-1"],
    ["an action", actionProposed, "action-action/tool-call/turn-1/1/1"],
    ["the news of it", ownerTold, "notification-notification/approval_needed//action/tool-call/turn-1/1/1/0"],
    ["the thread's title", titled("Tea"), "thread-thread-1"],
    ["a piece of text", delta("Good"), "turn-output-turn-1"],
    ["a thought", thinking, "turn-output-turn-1"],
    ["a note", noteWritten("run 1", "Buy some."), "note-run 1"],
    ["a document", artifactCreated("run 2", "Plan"), "artifact-run 2"],
    ["a question", asked(1), "turn-turn-1"],
    ["an answer", finished(1), "turn-turn-1"],
    ["no answer", failed(1, "cut"), "turn-turn-1"],
    ["another try", retried(1, "cut"), "turn-turn-1"],
    ["a repair", repairAttempted(1, "primary", { callId: "", reason: "", output: "" }), "turn-turn-1"],
    ["a message", committed(1, "Good morning.", "call 1"), "turn-turn-1"],
    ["a call", callPlanned, "turn-turn-1"],
    ["a judgement", policyDecided, "turn-turn-1"],
    ["the use of a tool", using(1, 1), "turn-turn-1"],
    ["its result", used(1, 1), "turn-turn-1"],
  ])("has its stream: %s", (_what, fact, stream) => {
    expect(write(fact)).toMatchObject({ stream, threadId: "thread-1", decision: { facts: [fact] } });
  });

  test.each<[string, NewFact]>([
    ["a piece of text", delta("Good")],
    ["a thought", thinking],
    ["a message", committed(1, "Good morning.", "call 1")],
    ["a call that is wanted", callPlanned],
  ])("is the model's own word, and as untrusted: %s", (_what, fact) => {
    expect(write(fact).provenance).toMatchObject({
      source: EventSource.MODEL_UNTRUSTED,
      contentTrust: ContentTrust.UNTRUSTED_MODEL,
      actor: { kind: ActorKind.MODEL, id: "some model" },
    });
  });

  test.each<[string, NewFact]>([
    ["a note", noteWritten("run 1", "Buy some.")],
    ["a document", artifactCreated("run 2", "Plan")],
    ["what a tool has read that others wrote", readByOthers],
  ])("is not to be trusted although our own tool wrote it down: %s", (_what, fact) => {
    expect(write(fact).provenance).toMatchObject({
      source: EventSource.TOOL_EXECUTOR,
      contentTrust: ContentTrust.UNTRUSTED_MODEL,
      actor: { kind: ActorKind.WORKER },
    });
  });

  test.each<[string, NewFact, EventSource, ContentTrust]>([
    ["a judgement", policyDecided, EventSource.POLICY_ENGINE, ContentTrust.TRUSTED_VALIDATED],
    ["an action", actionProposed, EventSource.POLICY_ENGINE, ContentTrust.TRUSTED_VALIDATED],
    ["the news of it", ownerTold, EventSource.SYSTEM, ContentTrust.TRUSTED_SYSTEM],
    ["a pause", turnPaused("turn-1"), EventSource.SYSTEM, ContentTrust.TRUSTED_SYSTEM],
    ["the use of a tool", using(1, 1), EventSource.TOOL_EXECUTOR, ContentTrust.TRUSTED_VALIDATED],
    ["a result of our own", used(1, 1), EventSource.TOOL_EXECUTOR, ContentTrust.TRUSTED_VALIDATED],
    ["a question", asked(1), EventSource.SYSTEM, ContentTrust.TRUSTED_SYSTEM],
    ["the end", turnCompleted("message"), EventSource.SYSTEM, ContentTrust.TRUSTED_SYSTEM],
  ])("is ours: %s", (_what, fact, source, contentTrust) => {
    expect(write(fact).provenance).toMatchObject({ source, contentTrust, actor: { kind: ActorKind.WORKER } });
  });

  test("says which turn it belongs to, and what it came of", () => {
    expect(write(asked(1)).provenance).toMatchObject({
      turnId: "turn-1",
      correlationId: "turn-1",
      causationId: "call 1",
    });
  });
});

test("facts keep their order; what follows the end of a turn belongs to the next one, but stands in its thread", () => {
  const facts = [finished(1), turnCompleted("message"), turnStarted("turn-2"), budgetApplied];
  const writes = turnWrites(place, facts, by);
  expect(writes.map(({ decision }) => decision.outcome === "accepted" && decision.facts[0])).toEqual(facts);
  expect(writes.map(({ provenance }) => provenance.turnId)).toEqual(["turn-1", "turn-1", "turn-2", "turn-2"]);
  expect(writes.map(({ stream }) => stream)).toEqual(["turn-turn-1", ...Array<string>(3).fill("turns-thread-1")]);
});
