import { rejectionCodeOf } from "../../domain/approvals/index.js";
import { toTimestamp, type NewFact } from "../../domain/shared/index.js";
import {
  ActionStatus,
  ExecutionOutcome,
  Identity,
  PolicyDecision,
  RiskClass,
} from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { noon } from "./appends.js";

type Value<Case extends NewFact["case"]> = Extract<NewFact, { case: Case }>["value"];

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A mail that wants to be sent; it expires an hour after noon. */
export function proposed(actionId: string, more: Partial<Value<"proposedActionCreated">> = {}): NewFact {
  const value: Value<"proposedActionCreated"> = {
    actionId,
    tool: "gmail_send_draft",
    toolVersion: 3,
    toolCallId: `call ${actionId}`,
    riskClass: RiskClass.EXFILTRATION,
    identity: Identity.BOT,
    idempotencyKey: `key ${actionId}`,
    justification: "Because.",
    deterministicSummary: `Send ${actionId}`,
    targetEntity: "ann@example.com",
    preview: { body: "Hello" },
    args: { draft: actionId },
    argsHash: bytes(`args ${actionId}`),
    cardHash: bytes(`card ${actionId}`),
    policyVersion: "p1",
    source: "chat",
    sourceId: "turn-1",
    revision: 1,
    expiresAt: toTimestamp(noon + 3_600_000),
    untrustedSources: ["web_open example.com"],
    warnings: ["Never seen before"],
  };
  return { case: "proposedActionCreated", value: { ...value, ...(more as typeof value) } };
}

/** An approval of whoever saw that card, or does not say, under the policy of the proposal. */
export const having = (seen: string | null) => ({ seen: seen === null ? null : bytes(seen), policyVersion: "p1" });

export function statusChanged(status: ActionStatus, more: Partial<Value<"proposedActionStatusChanged">> = {}): NewFact {
  return { case: "proposedActionStatusChanged", value: { status, ...(more as object) } };
}

/** It can be taken back for ten seconds after noon. */
export const approved = statusChanged(ActionStatus.APPROVED, { notBefore: toTimestamp(noon + 10_000) });
export const executed = statusChanged(ActionStatus.EXECUTED);
export const rejected = (
  reason: string,
  supersededByActionId = "",
  reasonCode: string = rejectionCodeOf({ reason }),
): NewFact => statusChanged(ActionStatus.REJECTED, { reason, reasonCode, supersededByActionId });
/** As it was recorded when there were no codes. */
export const rejectedWithoutCode = (reason: string): NewFact => statusChanged(ActionStatus.REJECTED, { reason });

export function intended(attempt = 1, idempotencyKey = "key"): NewFact {
  const value = { attempt, idempotencyKey, tool: "gmail_send_draft", argsHash: bytes(`args ${idempotencyKey}`) };
  return { case: "actionExecutionIntended", value: { ...value, leaseUntil: toTimestamp(noon + 120_000) } };
}

export function finished(outcome: ExecutionOutcome, more: Partial<Value<"actionExecutionFinished">> = {}): NewFact {
  const value = { outcome, attempt: 1, tool: "gmail_send_draft", idempotencyKey: "key", settledBy: "execution" };
  return { case: "actionExecutionFinished", value: { ...value, ...(more as object) } };
}

/** It is tried again a minute after noon. */
export const failedForNow = finished(ExecutionOutcome.FAILED_RETRYABLE, {
  reason: "busy",
  retryAt: toTimestamp(noon + 60_000),
});
export const done = finished(ExecutionOutcome.DONE, { result: "Sent.", resultHash: bytes("result") });

export const policyDecided = (actionId: string): NewFact => ({
  case: "policyDecisionMade",
  value: {
    policyId: "external.approved",
    decision: PolicyDecision.REQUIRE_APPROVAL,
    reason: "requires_approval",
    toolCallId: `call ${actionId}`,
    actionId,
  },
});

export const conflicted: NewFact = {
  case: "idempotencyConflict",
  value: { tool: "gmail_send_draft", idempotencyKey: "key", reason: "args_hash_mismatch" },
};

export function toolStarted(executionId: string): NewFact {
  const value = { executionId, toolCallId: "call", toolName: "web_open", displayCommand: "open a secret" };
  return { case: "toolExecutionStarted", value };
}

/** Somebody else's page was read, unless it says otherwise. */
export function toolFinished(result: string, more: Partial<Value<"toolExecutionFinished">> = {}): NewFact {
  const value = { executionId: "e", toolCallId: "call", toolName: "web_open", durationMs: 12n };
  const read = { result, untrusted: true, origin: "https://example.com" };
  return { case: "toolExecutionFinished", value: { ...value, ...read, ...(more as object) } };
}

/** About an action, whose id is that of the notification if it does not say. */
export function notified(notificationId: string, resourceId = notificationId): NewFact {
  const about = { type: "approval_needed", reason: "because", resourceKind: "action", resourceId };
  return { case: "notificationQueued", value: { notificationId, ...about } };
}

export const notificationRead: NewFact = { case: "notificationRead", value: {} };
