import { rejectionCodeOf } from "../../domain/approvals/index.js";
import { inHex, type Timestamp } from "../../domain/shared/index.js";
import {
  ActionStatus,
  ExecutionOutcome,
  Identity,
  PolicyDecision,
  RiskClass,
  TriggerType,
} from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { auditLog } from "../../read-models/audit/index.js";
import type { Projection } from "../shared/projection.js";
import { textOf } from "../shared/time.js";
import { actionEntry, blank, entry } from "./entry.js";

const aboutActions = {
  proposedActionCreated: actionEntry((said) => ({
    tool: said.tool,
    tool_version: said.toolVersion,
    tool_call_id: said.toolCallId,
    risk_class: RiskClass[said.riskClass],
    identity: Identity[said.identity],
    idempotency_key: said.idempotencyKey,
    policy_version: said.policyVersion,
    source: said.source,
    source_id: said.sourceId,
    revision: said.revision,
    supersedes: said.supersedesActionId,
    undo_seconds: said.undoSeconds,
    expires_at: timeOf(said.expiresAt),
    args_hash: inHex(said.argsHash),
    card_hash: inHex(said.cardHash),
  })),
  proposedActionStatusChanged: actionEntry((said) => ({
    status: ActionStatus[said.status],
    reason_code: said.status === ActionStatus.REJECTED ? rejectionCodeOf(said) : "",
    not_before: timeOf(said.notBefore),
    superseded_by: said.supersededByActionId,
  })),
  actionExecutionIntended: actionEntry((said) => ({
    tool: said.tool,
    idempotency_key: said.idempotencyKey,
    attempt: said.attempt,
    args_hash: inHex(said.argsHash),
    lease_until: timeOf(said.leaseUntil),
  })),
  actionExecutionFinished: actionEntry((said) => ({
    tool: said.tool,
    idempotency_key: said.idempotencyKey,
    attempt: said.attempt,
    outcome: ExecutionOutcome[said.outcome],
    settled_by: said.settledBy,
    result_hash: inHex(said.resultHash),
    retry_at: timeOf(said.retryAt),
    untrusted: said.untrusted,
    truncated: said.truncated,
  })),
  idempotencyConflict: actionEntry((said) => ({
    tool: said.tool,
    idempotency_key: said.idempotencyKey,
    reason: said.reason,
  })),
} satisfies Projection["on"];

/** What happened, who caused it and what was decided, without what anybody wrote. */
export const auditLogProjection: Projection = {
  name: "audit_log",
  version: 2,
  tables: [auditLog],
  on: {
    ...aboutActions,
    policyDecisionMade: entry((said, { turnId }) => ({
      entity: turnId,
      action: said.actionId,
      said: {
        policy_id: said.policyId,
        decision: PolicyDecision[said.decision],
        reason: said.reason,
        tool_call_id: said.toolCallId,
      },
    })),
    turnStarted: entry((said, { turnId }) => ({
      entity: said.turnId || turnId,
      said: {
        trigger_type: TriggerType[said.triggerType],
        trigger_source_id: said.triggerSourceId,
        user_message_id: said.userMessageId,
      },
    })),
    turnCompleted: entry((said, { turnId }) => ({
      entity: turnId,
      said: { assistant_message_id: said.assistantMessageId },
    })),
    turnFailed: entry((said, { turnId }) => ({
      entity: turnId,
      said: { code: said.code, retryable: said.retryable, retry_at: timeOf(said.retryAt) },
    })),
    turnPaused: entry((said, { turnId }) => ({
      entity: said.turnId || turnId,
      said: {
        pending_action_count: said.pendingActionCount,
        steps_used: said.stepsUsed,
        steps_remaining: said.stepsRemaining,
      },
    })),
    turnResumed: entry((said, { turnId }) => ({
      entity: said.turnId || turnId,
      said: { resumed_reason: said.resumedReason, steps_remaining: said.stepsRemaining },
    })),
    toolExecutionStarted: entry((said, { turnId }) => ({
      entity: turnId,
      said: { execution_id: said.executionId, tool_call_id: said.toolCallId, tool: said.toolName },
    })),
    toolExecutionFinished: entry((said, { turnId }) => ({
      entity: turnId,
      said: {
        execution_id: said.executionId,
        tool_call_id: said.toolCallId,
        tool: said.toolName,
        exit_code: said.exitCode,
        duration_ms: Number(said.durationMs),
        timed_out: said.timedOut,
        truncated: said.truncated,
        failed: said.failed,
        untrusted: said.untrusted,
      },
    })),
    pairingCodeCreated: entry((said) => ({
      entity: said.pairingId,
      said: { created_by: said.createdByDeviceId, expires_at: timeOf(said.expiresAt) },
    })),
    pairingAttemptFailed: entry((said) => ({ said: { reason: said.reason, address: said.address } })),
    devicePaired: entry((said) => ({ entity: said.deviceId, said: { pairing_id: said.pairingId } })),
    deviceRevoked: entry((said) => ({ entity: said.deviceId, said: { reason: said.reason } })),
    tokenIssued: entry((said) => ({
      entity: said.deviceId,
      said: { token_id: said.tokenId, replaces: said.replacesTokenId, expires_at: timeOf(said.expiresAt) },
    })),
    tokenRevoked: entry((said) => ({
      entity: said.deviceId,
      said: { token_id: said.tokenId, reason: said.reason },
    })),
    agentMemoryUpdated: entry(() => ({ said: {} })),
    heartbeatConfigured: entry((said) => ({
      said: { enabled: said.enabled, interval_minutes: said.intervalMinutes },
    })),
    notificationQueued: entry((said) => ({
      entity: said.notificationId,
      action: said.resourceKind === "action" ? said.resourceId : "",
      said: {
        type: said.type,
        reason: said.reason,
        resource_kind: said.resourceKind,
        resource_id: said.resourceId,
      },
    })),
    threadDeleted: entry(() => ({ said: {} })),
    auditEventRecorded: entry((said) => ({ entity: said.entryId, said: { event_type: said.eventType } })),
    logRestored: entry((said) => ({
      said: { restored_through_position: Number(said.restoredThroughPosition) },
    })),
    retentionApplied: entry((said) => ({
      said: {
        policy: said.policy,
        erased_before: timeOf(said.erasedBefore),
        erased_events: Number(said.erasedEvents),
      },
    })),
    eventsErased(event, write) {
      const ranges = event.payload?.ranges ?? [];
      const counts = ranges.flatMap((range) => range.counts);
      const events = counts.reduce((sum, { count }) => sum + Number(count), 0);
      entry<"eventsErased">(({ reason }) => ({ said: { reason, ranges: ranges.length, events } }))(event, write);
      for (const { first, last, counts: erased } of ranges) {
        for (const { threadId, type } of erased) {
          const of = { threadId: threadId || null, type, isAction: Object.hasOwn(aboutActions, type) };
          blank(write, of, Number(first), Number(last));
        }
      }
    },
  },
};

function timeOf(timestamp: Timestamp | undefined): string | null {
  return timestamp === undefined ? null : textOf(timestamp);
}
