import { ActionStatus, ExecutionOutcome } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import {
  accept,
  minute,
  nothing,
  refuse,
  second,
  toTimestamp,
  type Decision,
  type Instant,
  type NewFact,
  type Timestamp,
} from "../shared/index.js";
import type { ActionPlan } from "./action-plan.js";
import { statusChanged, type Action } from "./action.js";

/** How often an action is tried that has certainly not happened. */
const attemptsMax = 5;
const firstRetryMillis = 5 * second;
/** How long an execution may take before it counts as lost. */
export const leaseMillis = 2 * minute;

/** What became of an attempt, as far as anybody knows. */
export type Effect =
  | { readonly outcome: "done"; readonly result: EffectResult }
  /** It has certainly not happened. */
  | { readonly outcome: "not_done"; readonly reason: string; readonly isPassing: boolean }
  | { readonly outcome: "unknown"; readonly reason: string };

interface EffectResult {
  /** What the thread is told, bounded. */
  readonly text: string;
  readonly isTruncated: boolean;
  /** Others wrote it. */
  readonly isUntrusted: boolean;
  readonly origin: string;
  readonly hash: Uint8Array;
}

interface Finished {
  readonly outcome: ExecutionOutcome;
  readonly reason?: string;
  readonly retryAt?: Timestamp;
  readonly result?: string;
  readonly truncated?: boolean;
  readonly untrusted?: boolean;
  readonly origin?: string;
  readonly resultHash?: Uint8Array;
}

export type SettledBy = "execution" | "reconciliation" | "owner";

/** Before the effect: from here on it may have happened. */
export function intend(action: Action, at: Instant): Decision {
  if (action.status !== "approved") return refuse("action_not_approved");
  const { plan, execution } = action;
  if (execution.state !== "due" || at < execution.notBefore) return refuse("action_not_due");
  return accept({
    case: "actionExecutionIntended",
    value: {
      actionId: plan.actionId,
      attempt: execution.attempts + 1,
      argsHash: plan.argsHash,
      tool: plan.tool,
      idempotencyKey: plan.idempotencyKey,
      leaseUntil: toTimestamp(at + leaseMillis),
    },
  });
}

/** What is known after an attempt, or after asking the provider about it. */
export function settle(action: Action, effect: Effect, by: SettledBy, at: Instant): Decision {
  if (action.status === "executed") return nothing; // A repeat is not news.
  if (action.status !== "approved") return refuse("action_not_approved");
  const { plan, execution } = action;
  const isOpen = execution.state === "intended" || execution.state === "unknown";
  if (!isOpen) return refuse("action_not_begun");
  const { attempts } = execution;
  switch (effect.outcome) {
    case "done": {
      const { text: result, isTruncated: truncated, isUntrusted: untrusted, origin, hash: resultHash } = effect.result;
      const done = { result, truncated, untrusted, origin, resultHash };
      return accept(
        finished(plan, attempts, by, { outcome: ExecutionOutcome.DONE, ...done }),
        statusChanged(plan.actionId, ActionStatus.EXECUTED),
      );
    }
    case "not_done": {
      const { reason, isPassing } = effect;
      if (!isPassing || attempts >= attemptsMax) {
        return accept(finished(plan, attempts, by, { outcome: ExecutionOutcome.FAILED, reason }));
      }
      const retryAt = toTimestamp(at + firstRetryMillis * 2 ** (attempts - 1));
      return accept(finished(plan, attempts, by, { outcome: ExecutionOutcome.FAILED_RETRYABLE, reason, retryAt }));
    }
    case "unknown":
      if (execution.state === "unknown") return nothing; // Nobody knows more than before.
      return accept(finished(plan, attempts, by, { outcome: ExecutionOutcome.UNKNOWN, reason: effect.reason }));
  }
}

/** It cannot be carried out as it was approved: it never begins. */
export function giveUp(action: Action, reason: string): Decision {
  if (action.status !== "approved") return refuse("action_not_approved");
  const { plan, execution } = action;
  if (execution.state !== "due") return refuse("action_already_begun");
  const failed = { outcome: ExecutionOutcome.FAILED, reason };
  return accept(finished(plan, execution.attempts, "execution", failed));
}

/** The owner says what became of it. */
export function resolve(action: Action, isDone: boolean, at: Instant): Decision {
  switch (action.status) {
    case "none":
      return refuse("action_not_found");
    case "executed":
      return isDone ? nothing : refuse("action_already_settled");
    case "pending":
      return refuse("action_not_approved");
    case "rejected":
      return refuse("action_already_rejected", { reason: action.reason });
    case "approved": {
      if (action.execution.state === "failed" && !isDone) return nothing;
      if (action.execution.state !== "unknown") return refuse("action_not_unknown");
      const text = "The owner says that it was done.";
      const result = { text, isTruncated: false, isUntrusted: false, origin: "", hash: new Uint8Array() };
      const effect: Effect = isDone
        ? { outcome: "done", result }
        : { outcome: "not_done", reason: "The owner says that it was not done.", isPassing: false };
      return settle(action, effect, "owner", at);
    }
  }
}

function finished(
  { actionId, tool, idempotencyKey }: ActionPlan,
  attempt: number,
  settledBy: SettledBy,
  said: Finished,
): NewFact {
  return { case: "actionExecutionFinished", value: { actionId, attempt, tool, idempotencyKey, settledBy, ...said } };
}
