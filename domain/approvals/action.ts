import type { JsonObject } from "@bufbuild/protobuf";
import { ActionStatus, ExecutionOutcome, Identity, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
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
  type Timestamp,
  type Told,
} from "../shared/index.js";

const reasonBytesMax = 2_000;

/** Exactly what would be done, as it was shown to the owner. */
export interface ActionPlan {
  readonly actionId: string;
  readonly tool: string;
  readonly toolVersion: number;
  readonly args: JsonObject;
  /** What an approval binds: arguments, tool, version, identity and policy. */
  readonly argsHash: Uint8Array;
  readonly identity: Identity;
  readonly risk: RiskClass;
  readonly policyVersion: string;
  readonly idempotencyKey: string;
  readonly cardHash: Uint8Array;
  readonly expiresAt: Instant;
  readonly undoSeconds: number;
  readonly revision: number;
  /** The call of a model that it comes from. */
  readonly toolCallId: string;
  readonly source: string;
  readonly sourceId: string;
  readonly justification: string;
  /** What the owner was shown. */
  readonly preview: JsonObject;
}

/** How far the execution of an approved action has come. */
type Execution =
  /** It has not begun, or has failed and is tried again. */
  | { readonly state: "due"; readonly notBefore: Instant; readonly attempts: number }
  /** From here on the effect may have happened. */
  | { readonly state: "intended"; readonly attempts: number }
  | { readonly state: "done"; readonly attempts: number; readonly result: ExecutionResult }
  | { readonly state: "unknown"; readonly attempts: number }
  | { readonly state: "failed"; readonly attempts: number; readonly reason: string };

export type Action =
  | { readonly status: "none" }
  | { readonly status: "pending"; readonly plan: ActionPlan }
  | { readonly status: "approved"; readonly plan: ActionPlan; readonly execution: Execution }
  /** Another revision has taken its place if `supersededBy` is not empty. */
  | { readonly status: "rejected"; readonly plan: ActionPlan; readonly reason: string; readonly supersededBy: string }
  | { readonly status: "executed"; readonly plan: ActionPlan; readonly result: ExecutionResult };

/** What an executed action has answered. */
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
      return { ...action, execution: { state: "intended", attempts: fact.value?.attempt ?? 0 } };
    }
    case "actionExecutionFinished":
      return action.status === "approved" ? { ...action, execution: after(action.execution, fact.value) } : action;
    default:
      return action;
  }
}

export function approve(action: Action, seen: Uint8Array | null, at: Instant): Decision {
  switch (action.status) {
    case "none":
      return refuse("action_not_found");
    case "pending": {
      const { plan } = action;
      if (at >= plan.expiresAt) return refuse("approval_expired");
      if (seen !== null && !isSame(seen, plan.cardHash)) return refuse("card_changed");
      const notBefore = toTimestamp(at + plan.undoSeconds * second);
      return accept(statusChanged(plan.actionId, ActionStatus.APPROVED, { notBefore }));
    }
    case "approved":
    case "executed":
      return nothing; // A repeat is not news.
    case "rejected":
      return refuse("action_already_rejected", { reason: action.reason });
  }
}

export function reject(action: Action, reason: string): Decision {
  switch (action.status) {
    case "none":
      return refuse("action_not_found");
    case "pending":
      return refuseTextIfAny(reason, reasonBytesMax) ?? accept(rejected(action.plan, reason));
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
      return action.reason === "cancelled" ? nothing : refuse("action_already_rejected", { reason: action.reason });
  }
}

/** Another revision takes its place. */
export function supersede(action: Action, byActionId: string, at: Instant): Decision {
  switch (action.status) {
    case "none":
      return refuse("action_not_found");
    case "pending":
      if (at >= action.plan.expiresAt) return refuse("approval_expired");
      return accept(rejected(action.plan, "superseded", { supersededByActionId: byActionId }));
    case "approved":
    case "executed":
      return refuse("action_already_approved");
    case "rejected":
      return refuse("action_already_rejected", { reason: action.reason });
  }
}

export function statusChanged(
  actionId: string,
  status: ActionStatus,
  more: { readonly reason?: string; readonly notBefore?: Timestamp; readonly supersededByActionId?: string } = {},
): NewFact {
  return { case: "proposedActionStatusChanged", value: { actionId, status, ...more } };
}

function rejected({ actionId }: ActionPlan, reason: string, more: object = {}): NewFact {
  return statusChanged(actionId, ActionStatus.REJECTED, { reason, ...more });
}

type Proposed = Extract<Told, { case: "proposedActionCreated" }>["value"];

function planOf(proposed: Proposed): ActionPlan {
  const expires = proposed?.expiresAt;
  return {
    actionId: proposed?.actionId ?? "",
    tool: proposed?.tool ?? "",
    toolVersion: proposed?.toolVersion ?? 0,
    args: proposed?.args ?? {},
    argsHash: proposed?.argsHash ?? new Uint8Array(),
    identity: proposed?.identity ?? Identity.UNSPECIFIED,
    risk: proposed?.riskClass ?? RiskClass.RISK_CLASS_UNSPECIFIED,
    policyVersion: proposed?.policyVersion ?? "",
    idempotencyKey: proposed?.idempotencyKey ?? "",
    cardHash: proposed?.cardHash ?? new Uint8Array(),
    // Of one that was erased nothing is known, so nobody can approve it any more.
    expiresAt: expires === undefined ? 0 : toInstant({ seconds: expires.seconds ?? 0n, nanos: expires.nanos ?? 0 }),
    undoSeconds: proposed?.undoSeconds ?? 0,
    revision: proposed?.revision ?? 1,
    toolCallId: proposed?.toolCallId ?? "",
    source: proposed?.source ?? "",
    sourceId: proposed?.sourceId ?? "",
    justification: proposed?.justification ?? "",
    preview: proposed?.preview ?? {},
  };
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
    case ExecutionOutcome.FAILED:
      return { state: "failed", attempts, reason: finished.reason ?? "" };
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
