import { ActionStatus, ExecutionOutcome } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import {
  accept,
  nothing,
  refuse,
  refuseTextIfAny,
  second,
  toInstant,
  toTimestamp,
  type Decision,
  type Instant,
  type NewFact,
  type Refusal,
  type Timestamp,
  type Told,
} from "../shared/index.js";
import { planOf, type ActionPlan } from "./action-plan.js";
import { rejectionCodeOf, type RejectionCode } from "./rejection.js";

const reasonBytesMax = 2_000;
/** How often an action may be revised, the first one counted. */
export const revisionsMax = 20;

/** How far the execution of an approved action has come. */
type Execution =
  /** It has not begun, or has failed and is tried again. */
  | { readonly state: "due"; readonly notBefore: Instant; readonly attempts: number }
  /** From here on the effect may have happened, and until the end of the lease it may still happen. */
  | { readonly state: "intended"; readonly attempts: number; readonly leaseUntil: Instant }
  | { readonly state: "done"; readonly attempts: number; readonly result: ExecutionResult }
  | { readonly state: "unknown"; readonly attempts: number }
  | { readonly state: "failed"; readonly attempts: number; readonly why: ExecutionResult };

export type Action =
  | { readonly status: "none" }
  | { readonly status: "pending"; readonly plan: ActionPlan }
  | { readonly status: "approved"; readonly plan: ActionPlan; readonly execution: Execution }
  | {
      readonly status: "rejected";
      readonly plan: ActionPlan;
      readonly code: RejectionCode;
      /** The owner's words, if it was they. */
      readonly reason: string;
      /** The revision that has taken its place, if one has. */
      readonly supersededBy: string;
    }
  | { readonly status: "executed"; readonly plan: ActionPlan; readonly result: ExecutionResult };

/** What an executed action has answered, or why it was not executed. */
interface ExecutionResult {
  readonly text: string;
  readonly isUntrusted: boolean;
  readonly origin: string;
}

const noResult: ExecutionResult = { text: "", isUntrusted: false, origin: "" };

export const initialAction: Action = { status: "none" };

export function evolveAction(action: Action, fact: Told): Action {
  switch (fact.case) {
    case "proposedActionCreated":
      return { status: "pending", plan: planOf(fact.value) };
    case "proposedActionStatusChanged":
      return action.status === "none" ? action : changed(action, fact.value);
    case "actionExecutionIntended": {
      if (action.status !== "approved") return action;
      const { attempt = 0, leaseUntil: lease } = fact.value ?? {};
      // Of one that was erased nobody knows how long it is.
      const leaseUntil =
        lease === undefined ? Infinity : toInstant({ seconds: lease.seconds ?? 0n, nanos: lease.nanos ?? 0 });
      return { ...action, execution: { state: "intended", attempts: attempt, leaseUntil } };
    }
    case "actionExecutionFinished":
      return action.status === "approved" ? { ...action, execution: after(action.execution, fact.value) } : action;
    default:
      return action;
  }
}

/** What an approval is good for: the card that was seen, if somebody says which, and the policy that is in force. */
export interface Approval {
  readonly seen: Uint8Array | null;
  readonly policyVersion: string;
}

export function approve(action: Action, { seen, policyVersion }: Approval, at: Instant): Decision {
  switch (action.status) {
    case "none":
      return refuse("action_not_found");
    case "pending": {
      const { plan } = action;
      if (at >= plan.expiresAt) return refuse("approval_expired");
      if (!isCardOf(plan, seen)) return refuse("card_changed");
      if (plan.policyVersion !== policyVersion) return refuse("policy_changed");
      const notBefore = toTimestamp(at + plan.undoSeconds * second);
      return accept(statusChanged(plan.actionId, ActionStatus.APPROVED, { notBefore }));
    }
    case "approved":
    case "executed":
      // A repeat is not news; but whoever saw another card has not approved this one.
      return isCardOf(action.plan, seen) ? nothing : refuse("card_changed");
    case "rejected":
      return action.code === "idempotency_conflict" ? refuse("idempotency_conflict") : alreadyRejected(action);
  }
}

/** Another action has used its key. What would be approved is recorded as a conflict instead, and rejected. */
export function conflict(action: Action, first: Action, approval: Approval, at: Instant): Decision {
  const approved = approve(action, approval, at);
  if (action.status !== "pending" || approved.outcome === "refused") return approved;
  return accept(keyConflict(action.plan, first), rejected(action.plan, "idempotency_conflict"));
}

/** The key was used before: for something else, or for the same. Neither is done again. */
export function keyConflict({ actionId, tool, idempotencyKey, argsHash }: ActionPlan, first: Action): NewFact {
  const isSameThing = first.status !== "none" && isSame(first.plan.argsHash, argsHash);
  const reason = isSameThing ? "key_reused" : "args_hash_mismatch";
  return { case: "idempotencyConflict", value: { actionId, tool, idempotencyKey, reason } };
}

export function reject(action: Action, reason: string): Decision {
  switch (action.status) {
    case "none":
      return refuse("action_not_found");
    case "pending":
      return refuseTextIfAny(reason, reasonBytesMax) ?? accept(rejected(action.plan, "owner", { reason }));
    case "rejected":
      return nothing; // A repeat is not news.
    case "approved":
    case "executed":
      return refuse("action_already_approved");
  }
}

/** Nobody has decided in time. */
export function expire(action: Action, at: Instant): Decision {
  const isDue = action.status === "pending" && at >= action.plan.expiresAt;
  return isDue ? accept(rejected(action.plan, "expired")) : nothing;
}

/** Nobody wants it any more: its thread was deleted. */
export function abandon(action: Action): Decision {
  return action.status === "pending" ? accept(rejected(action.plan, "thread_deleted")) : nothing;
}

/** Takes an approval back. Once the intent is recorded it is too late. */
export function cancel(action: Action): Decision {
  switch (action.status) {
    case "none":
      return refuse("action_not_found");
    case "pending":
      return refuse("action_not_approved");
    case "approved":
      if (action.execution.state !== "due" || action.execution.attempts > 0) return refuse("action_already_begun");
      return accept(rejected(action.plan, "cancelled"));
    case "executed":
      return refuse("action_already_begun");
    case "rejected":
      return action.code === "cancelled" ? nothing : alreadyRejected(action);
  }
}

/** Another revision takes its place. */
export function supersede(action: Action, byActionId: string, at: Instant): Decision {
  switch (action.status) {
    case "none":
      return refuse("action_not_found");
    case "pending":
      if (at >= action.plan.expiresAt) return refuse("approval_expired");
      if (action.plan.revision >= revisionsMax) return refuse("too_many_revisions", { revisionsMax });
      return accept(rejected(action.plan, "superseded", { supersededByActionId: byActionId }));
    case "approved":
    case "executed":
      return refuse("action_already_approved");
    case "rejected":
      return alreadyRejected(action);
  }
}

export function statusChanged(
  actionId: string,
  status: ActionStatus,
  more: {
    readonly reason?: string;
    readonly reasonCode?: RejectionCode;
    readonly notBefore?: Timestamp;
    readonly supersededByActionId?: string;
  } = {},
): NewFact {
  return { case: "proposedActionStatusChanged", value: { actionId, status, ...more } };
}

/** The reason is the code, unless somebody gave one. */
function rejected(
  { actionId }: ActionPlan,
  reasonCode: RejectionCode,
  more: { readonly reason?: string; readonly supersededByActionId?: string } = {},
): NewFact {
  return statusChanged(actionId, ActionStatus.REJECTED, { reason: reasonCode, reasonCode, ...more });
}

function alreadyRejected({ reason }: Extract<Action, { status: "rejected" }>): Refusal {
  return refuse("action_already_rejected", { reason });
}

/** Nothing seen is no claim. */
function isCardOf({ cardHash }: ActionPlan, seen: Uint8Array | null): boolean {
  return seen === null || isSame(seen, cardHash);
}

type Changed = Extract<Told, { case: "proposedActionStatusChanged" }>["value"];

function changed(action: Exclude<Action, { status: "none" }>, change: Changed): Action {
  const { plan } = action;
  switch (change?.status) {
    case ActionStatus.APPROVED: {
      const { seconds = 0n, nanos = 0 } = change.notBefore ?? {};
      return {
        status: "approved",
        plan,
        execution: { state: "due", notBefore: toInstant({ seconds, nanos }), attempts: 0 },
      };
    }
    case ActionStatus.EXECUTED: {
      const isDone = action.status === "approved" && action.execution.state === "done";
      return { status: "executed", plan, result: isDone ? action.execution.result : noResult };
    }
    case ActionStatus.REJECTED:
    case undefined: // What cannot be known must not be done.
      return {
        status: "rejected",
        plan,
        code: change === null ? "erased" : rejectionCodeOf(change),
        reason: change?.reason ?? "erased",
        supersededBy: change?.supersededByActionId ?? "",
      };
    case ActionStatus.PENDING:
    case ActionStatus.ACTION_STATUS_UNSPECIFIED:
      return action;
  }
}

type Finished = Extract<Told, { case: "actionExecutionFinished" }>["value"];

function after({ attempts }: Execution, finished: Finished): Execution {
  switch (finished?.outcome) {
    case ExecutionOutcome.FAILED_RETRYABLE: {
      const { seconds = 0n, nanos = 0 } = finished.retryAt ?? {};
      return { state: "due", notBefore: toInstant({ seconds, nanos }), attempts };
    }
    case ExecutionOutcome.FAILED: {
      const { reason: text = "", untrusted: isUntrusted = false, origin = "" } = finished;
      return { state: "failed", attempts, why: { text, isUntrusted, origin } };
    }
    case ExecutionOutcome.DONE: {
      const { result: text = "", untrusted: isUntrusted = false, origin = "" } = finished;
      return { state: "done", attempts, result: { text, isUntrusted, origin } };
    }
    case ExecutionOutcome.UNKNOWN:
    case ExecutionOutcome.UNSPECIFIED:
    case undefined:
      return { state: "unknown", attempts };
  }
}

export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
