import { ActionStatus, ExecutionOutcome } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import {
  accept,
  hour,
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
import { defaultToolLimits } from "./tool.js";

const firstRetryMillis = 5 * second;
/** How long after the end of an attempt its request may still arrive at the provider. */
const lateMillis = minute;
/** How long after it is due an action may still be begun, if its approval would be over by then. */
const startMillisMax = hour;
const reasonLengthMax = 500;
const originLengthMax = 500;
const hashBytesMax = 64;

/** What became of an attempt, as far as anybody knows. */
export type Effect =
  | { readonly outcome: "done"; readonly result: EffectResult }
  /** It has certainly not happened. */
  | {
      readonly outcome: "not_done";
      readonly reason: string;
      readonly isPassing: boolean;
      /** Others wrote the reason. */
      readonly isUntrusted?: boolean;
      readonly origin?: string;
    }
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

type Approved = Extract<Action, { status: "approved" }>;

/** Until the end of its lease, what was begun may still happen, even if the provider knows nothing of it yet. */
export function leaseMillisOf(attemptMillisMax: number): number {
  return attemptMillisMax + lateMillis;
}

/** A machine may have slept between the intent and the attempt: what was sent just now is on its way in any case. */
export function leaseAfter(leaseUntil: Instant, attemptEndedAt: Instant): Instant {
  return Math.max(leaseUntil, attemptEndedAt + lateMillis);
}

/** How much of a lease is left. A clock that was set back does not make it longer. */
export function leaseMillisLeft(leaseUntil: Instant, at: Instant, leaseMillis: number): number {
  return Math.max(0, Math.min(leaseUntil - at, leaseMillis));
}

/** Who approved it meant it for about then, and not for whenever the server comes back. */
export function isTooLate({ plan, execution }: Approved, at: Instant): boolean {
  return execution.state === "due" && at > Math.max(plan.expiresAt, execution.notBefore + startMillisMax);
}

/** Before the effect: from here on it may have happened. */
export function intend(
  action: Action,
  at: Instant,
  attemptMillisMax: number = defaultToolLimits.attemptMillisMax,
): Decision {
  if (action.status !== "approved") return refuse("action_not_approved");
  const { plan, execution } = action;
  if (execution.state !== "due" || at < execution.notBefore) return refuse("action_not_due");
  if (isTooLate(action, at)) return refuse("approval_expired");
  return accept({
    case: "actionExecutionIntended",
    value: {
      actionId: plan.actionId,
      attempt: execution.attempts + 1,
      argsHash: plan.argsHash,
      tool: plan.tool,
      idempotencyKey: plan.idempotencyKey,
      leaseUntil: toTimestamp(at + leaseMillisOf(attemptMillisMax)),
    },
  });
}

/** What is known after an attempt, or after asking the provider about it. */
export function settle(
  action: Action,
  effect: Effect,
  by: SettledBy,
  at: Instant,
  attemptsMax: number = defaultToolLimits.attemptsMax,
): Decision {
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
      const { reason, isPassing, isUntrusted: untrusted = false, origin = "" } = effect;
      const said = { reason, untrusted, origin };
      if (!isPassing || attempts >= attemptsMax) {
        return accept(finished(plan, attempts, by, { outcome: ExecutionOutcome.FAILED, ...said }));
      }
      const retryAt = toTimestamp(at + firstRetryMillis * 2 ** (attempts - 1));
      return accept(finished(plan, attempts, by, { outcome: ExecutionOutcome.FAILED_RETRYABLE, ...said, retryAt }));
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

/** What a tool says of itself is no longer than it may be, and can be written down. */
function finished(
  { actionId, tool, idempotencyKey }: ActionPlan,
  attempt: number,
  settledBy: SettledBy,
  { reason = "", origin = "", resultHash = new Uint8Array(), ...said }: Finished,
): NewFact {
  return {
    case: "actionExecutionFinished",
    value: {
      ...{ actionId, attempt, tool, idempotencyKey, settledBy, ...said },
      reason: reason.slice(0, reasonLengthMax).toWellFormed(),
      origin: origin.slice(0, originLengthMax).toWellFormed(),
      resultHash: resultHash.slice(0, hashBytesMax),
    },
  };
}
