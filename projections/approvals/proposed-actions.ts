import { rejectionCodeOf } from "../../domain/approvals/index.js";
import type { LoggedEvent, PayloadOf, RecordedEvent } from "../../domain/shared/index.js";
import { ActionStatus, ExecutionOutcome } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { proposedActions, type ActionStatusText, type ProposedActionRow } from "../../read-models/approvals/index.js";
import { erasedRanges } from "../shared/erased-ranges.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";
import { idIn } from "../shared/stream.js";
import { textOf } from "../shared/time.js";

type Changes = Partial<ProposedActionRow> & { readonly status?: ActionStatusText };

const undecided = { undo_until: null, decided_at: null, decided_position: null } satisfies Changes;
const notDue = { due_at: null, due_position: null } satisfies Changes;
const notRejected = { rejection_reason: null, rejection_code: null, superseded_by: null } satisfies Changes;
const withoutOutcome = { execution: 0, execution_reason: null, result: null } satisfies Changes;

/** What cannot be known must not be done: the domain sees it the same way. */
const erasedStatus = {
  ...{ status: "REJECTED", rejection_reason: "erased", rejection_code: "erased", superseded_by: null },
  ...undecided,
} satisfies Changes;
const erasedOutcome = { ...withoutOutcome, execution: ExecutionOutcome.UNKNOWN } satisfies Changes;

/**
 * Whose event it is the stream tells, even if it was erased. Each group of columns knows where it comes from, and an event
 * writes a group whole or not at all: that of an erased event is what a rebuild would write in its place.
 *
 * Actions stay when their thread is deleted: what became of them is still to be known.
 */
export const proposedActionsProjection: Projection = {
  name: "proposed_actions",
  version: 2,
  tables: [proposedActions],
  on: {
    proposedActionCreated(event, write) {
      const actionId = idIn(event.stream, "action");
      if (actionId === null) return;
      write.delete(proposedActions, { action_id: actionId });
      if (event.payload === null) return;
      write.insert(proposedActions, newAction(event, actionId, event.payload));
    },
    proposedActionStatusChanged(event, write) {
      const actionId = idIn(event.stream, "action");
      if (actionId === null) return;
      const changes = { ...notDue, ...changed(event), status_position: event.position };
      write.update(proposedActions, { action_id: actionId }, changes);
    },
    actionExecutionIntended({ stream }, write) {
      const actionId = idIn(stream, "action");
      if (actionId === null) return;
      const begun = { in_flight: 1, ...withoutOutcome, execution_position: null, ...notDue };
      write.add(proposedActions, { action_id: actionId }, "attempts", 1, begun);
    },
    actionExecutionFinished(event, write) {
      const actionId = idIn(event.stream, "action");
      if (actionId === null) return;
      const ended = { in_flight: 0, ...notDue, ...finished(event), execution_position: event.position };
      write.update(proposedActions, { action_id: actionId }, ended);
    },
    eventsErased({ payload }, write) {
      for (const range of erasedRanges(payload, "proposedActionCreated")) {
        write.delete(proposedActions, {}, { column: "position", ...range });
      }
      for (const range of erasedRanges(payload, "proposedActionStatusChanged")) {
        write.update(proposedActions, {}, erasedStatus, { column: "status_position", ...range });
        write.update(proposedActions, {}, undecided, { column: "decided_position", ...range });
        write.update(proposedActions, {}, notDue, { column: "due_position", ...range });
      }
      for (const range of erasedRanges(payload, "actionExecutionFinished")) {
        const toBeRetried = { execution: ExecutionOutcome.FAILED_RETRYABLE };
        write.update(proposedActions, toBeRetried, notDue, { column: "due_position", ...range });
        write.update(proposedActions, {}, erasedOutcome, { column: "execution_position", ...range });
      }
    },
  },
};

function newAction(
  { threadId, envelope, occurredAt, position }: LoggedEvent,
  actionId: string,
  proposed: PayloadOf<"proposedActionCreated">,
): ProposedActionRow {
  const { turnId = "" } = envelope ?? {};
  return {
    action_id: actionId,
    user_id: owner,
    thread_id: threadId ?? "",
    turn_id: turnId || null,
    tool_call_id: proposed.toolCallId,
    source: proposed.source,
    source_id: proposed.sourceId,
    tool: proposed.tool,
    tool_version: proposed.toolVersion,
    args_json: JSON.stringify(proposed.args ?? {}),
    risk_class: proposed.riskClass,
    identity: proposed.identity,
    justification: proposed.justification,
    idempotency_key: proposed.idempotencyKey,
    status: "PENDING",
    ...notRejected,
    supersedes: proposed.supersedesActionId || null,
    revision: proposed.revision,
    summary: proposed.deterministicSummary,
    target: proposed.targetEntity,
    preview_json: JSON.stringify(proposed.preview ?? {}),
    card_hash: proposed.cardHash,
    policy_version: proposed.policyVersion,
    untrusted_sources_json: JSON.stringify(proposed.untrustedSources),
    warnings_json: JSON.stringify(proposed.warnings),
    ...undecided,
    ...withoutOutcome,
    attempts: 0,
    in_flight: 0,
    ...notDue,
    created_at: occurredAt,
    expires_at: textOf(proposed.expiresAt),
    position,
    status_position: null,
    execution_position: null,
  };
}

function changed({ payload, occurredAt, position }: RecordedEvent<"proposedActionStatusChanged">): Changes {
  if (payload === null) return erasedStatus;
  const decided = { decided_at: occurredAt, decided_position: position };
  switch (payload.status) {
    case ActionStatus.APPROVED: {
      const until = textOf(payload.notBefore);
      const due = { undo_until: until, due_at: until, due_position: position };
      return { status: "APPROVED", ...notRejected, ...due, ...decided };
    }
    case ActionStatus.EXECUTED: // Decided before.
      return { status: "EXECUTED", ...notRejected };
    default: {
      const because = { rejection_reason: payload.reason, rejection_code: rejectionCodeOf(payload) };
      const superseded_by = payload.supersededByActionId || null;
      return { status: "REJECTED", ...because, superseded_by, undo_until: null, ...decided };
    }
  }
}

function finished({ payload, position }: RecordedEvent<"actionExecutionFinished">): Changes {
  if (payload === null) return erasedOutcome;
  const { outcome, reason, result, retryAt } = payload;
  return {
    execution: outcome === ExecutionOutcome.UNSPECIFIED ? ExecutionOutcome.UNKNOWN : outcome,
    execution_reason: reason || null,
    result: result || null,
    ...(outcome === ExecutionOutcome.FAILED_RETRYABLE && { due_at: textOf(retryAt), due_position: position }),
  };
}
