import type { NewFact } from "../../domain/shared/index.js";
import { accept } from "../../domain/shared/index.js";
import { ContentTrust, EventSource } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import type { Proposal } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { actionStream } from "../approvals/streams.js";
import { notificationStream } from "../notifications/streams.js";
import { threadStream, turnOutputStream, turnsStream, turnStream } from "./streams.js";
import type { TurnPlace } from "./turn-ports.js";

const worker = { kind: ActorKind.WORKER, id: "turns" } as const;

type Voice = Pick<Provenance, "source" | "contentTrust" | "actor">;

/** Each fact of a turn in its stream, with who says it; in their order. */
export function turnWrites(
  place: TurnPlace,
  facts: readonly NewFact[],
  by: { readonly model: string; readonly causationId: string },
): readonly Proposal[] {
  let { turnId } = place;
  return facts.map((fact) => {
    // What follows an end belongs to the turn that begins then.
    if (fact.case === "turnStarted") turnId = fact.value.turnId ?? turnId;
    return {
      stream: streamOf(fact, place),
      threadId: place.threadId,
      provenance: { ...voiceOf(fact, by.model), turnId, correlationId: turnId, causationId: by.causationId },
      decision: accept(fact),
    };
  });
}

function streamOf(fact: NewFact, { threadId, turnId }: TurnPlace): string {
  switch (fact.case) {
    case "turnStarted":
    case "turnBudgetApplied":
    case "turnCompleted":
    case "turnFailed":
    case "turnPaused":
      return turnsStream(threadId);
    // After a restart nothing has changed for the other turns of the thread.
    case "turnResumed":
      return fact.value.stepEndsAt === undefined ? turnsStream(threadId) : turnStream(turnId);
    case "proposedActionCreated":
      return actionStream(fact.value.actionId ?? "");
    case "notificationQueued":
      return notificationStream(fact.value.notificationId ?? "");
    case "threadTitled":
      return threadStream(threadId);
    case "assistantTextDelta":
    case "assistantThinkingDelta":
      return turnOutputStream(turnId);
    case "noteWritten":
      return `note-${fact.value.noteId ?? ""}`;
    case "artifactCreated":
      return `artifact-${fact.value.artifactId ?? ""}`;
    default:
      return turnStream(turnId);
  }
}

function voiceOf(fact: NewFact, model: string): Voice {
  switch (fact.case) {
    case "assistantTextDelta":
    case "assistantThinkingDelta":
    case "assistantMessageCommitted":
    case "toolCallPlanned":
      return {
        source: EventSource.MODEL_UNTRUSTED,
        contentTrust: ContentTrust.UNTRUSTED_MODEL,
        actor: { kind: ActorKind.MODEL, id: model },
      };
    case "policyDecisionMade":
    case "proposedActionCreated":
      return { source: EventSource.POLICY_ENGINE, contentTrust: ContentTrust.TRUSTED_VALIDATED, actor: worker };
    case "toolExecutionStarted":
      return { source: EventSource.TOOL_EXECUTOR, contentTrust: ContentTrust.TRUSTED_VALIDATED, actor: worker };
    case "toolExecutionFinished":
      return {
        source: EventSource.TOOL_EXECUTOR,
        contentTrust: fact.value.untrusted ? ContentTrust.UNTRUSTED_MODEL : ContentTrust.TRUSTED_VALIDATED,
        actor: worker,
      };
    // The model's words, whoever wrote them down.
    case "noteWritten":
    case "artifactCreated":
      return { source: EventSource.TOOL_EXECUTOR, contentTrust: ContentTrust.UNTRUSTED_MODEL, actor: worker };
    default:
      return { source: EventSource.SYSTEM, contentTrust: ContentTrust.TRUSTED_SYSTEM, actor: worker };
  }
}
