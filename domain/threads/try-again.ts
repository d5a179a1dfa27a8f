import { second, toTimestamp, type Instant, type NewFact } from "../shared/index.js";
import { callFailed } from "../budgets/index.js";
import type { Trouble, TurnRules, Unanswered } from "./outcome.js";
import { callInFlight, stepMillisMax, type LossReason, type Turn } from "./turn.js";
import { turnFailed, type TurnFailure } from "./turn-end.js";
import type { TurnRequest } from "./turn-queue.js";

/** How often the same model is asked the same, when it does not answer. */
const attemptsPerModelMax = 3;
/** A step that brings down whoever is at it, again and again, is given up. */
const lossesPerStepMax = 10;
/** How long a turn waits for a model. One that wants more is left alone. */
export const retryMillisMax = 30 * second;
const firstRetryMillis = second / 2;

const said: Readonly<Record<LossReason, { readonly resumedReason: string; readonly message: string }>> = {
  server_stopped: { resumedReason: "server_restarted", message: "The server was stopped." },
  broke_off: { resumedReason: "broke_off", message: "Something broke in the middle of it." },
};

/**
 * Somebody is at it again: what was being asked is asked again, a tool that was reading reads again, and what was waited
 * for is waited for, with all the time of a step.
 */
export function afterLoss(
  { turnId, budget }: TurnRequest,
  turn: Turn,
  why: LossReason,
  at: Instant,
): readonly NewFact[] {
  const isWaiting = turn.notBefore !== null;
  if (turn.asking === null && !isUsingTool(turn) && !isWaiting) return [];
  const stepsUsed = turn.steps.length;
  const stepsRemaining = budget.maxToolSteps - stepsUsed;
  const stepEndsAt = toTimestamp(at + stepMillisMax);
  const { resumedReason, message } = said[why];
  const resumed: NewFact = {
    case: "turnResumed",
    value: { turnId, resumedReason, stepsRemaining, stepsUsed, stepEndsAt },
  };
  const isTooOften = turn.losses >= lossesPerStepMax;
  const end = isTooOften ? [turnFailed("TURN_LOST", true)] : [];
  if (turn.asking === null) return [resumed, ...end];
  const { callId, provider, model, reservedTokens } = turn.asking;
  // Nobody knows what it has cost; the budget must hold anyway.
  const lost = callFailed(callId, { provider, model, trouble: why, message, chargedTokens: reservedTokens });
  const again = isTooOften ? [] : [retried(turn, why, turn.choice === "fallback", null)];
  return [resumed, lost, ...again, ...end];
}

/** The same model again, if it may come back in time; then the other one; then there is no answer. */
export function triedAgain(
  turn: Turn,
  outcome: Unanswered,
  { hasFallback }: TurnRules,
  at: Instant,
): readonly NewFact[] {
  const { trouble, retryAfterMillis, jitter } = outcome;
  if (trouble === "interrupted") return []; // Who interrupts says what comes next.
  const waitMillis = retryAfterMillis ?? firstRetryMillis * 2 ** turn.failures * (0.5 + jitter / 2);
  const stepEndsAt = turn.stepEndsAt ?? Infinity;
  const isInTime = waitMillis <= retryMillisMax && at + waitMillis < stepEndsAt;
  if (isPassing(trouble) && turn.failures + 1 < attemptsPerModelMax && isInTime) {
    return [retried(turn, trouble, turn.choice === "fallback", Math.ceil(at + waitMillis))];
  }
  // Another model of the same provider wants the same key.
  const canSwitch = hasFallback && turn.choice === "primary" && trouble !== "unauthorized";
  if (canSwitch && at < stepEndsAt) return [retried(turn, trouble, true, null)];
  const retryAt = retryAfterMillis === null || !isPassing(trouble) ? null : at + retryAfterMillis;
  const isLate = isPassing(trouble) && at >= stepEndsAt;
  const code = isLate ? "TURN_STEP_TIMEOUT" : codeOf(trouble);
  return [turnFailed(code, isPassing(trouble), retryAt)];
}

function isPassing(trouble: Trouble): boolean {
  return ["rate_limited", "unavailable", "timeout", "cut", "malformed"].includes(trouble);
}

function codeOf(trouble: Exclude<Trouble, "interrupted">): TurnFailure {
  switch (trouble) {
    case "unauthorized":
      return "MODEL_UNAUTHORIZED";
    case "payment_required":
      return "MODEL_PAYMENT_REQUIRED";
    case "rejected":
      return "MODEL_REJECTED";
    case "rate_limited":
      return "MODEL_RATE_LIMITED";
    case "unavailable":
    case "cut":
      return "MODEL_UNAVAILABLE";
    case "timeout":
      return "MODEL_TIMEOUT";
    case "malformed":
      return "FAILED_MODEL_OUTPUT";
  }
}

function isUsingTool({ steps }: Turn): boolean {
  return steps.at(-1)?.calls.some(({ executionId, result }) => executionId !== null && result === null) ?? false;
}

function retried(turn: Turn, reason: string, fallbackModelUsed: boolean, notBefore: Instant | null): NewFact {
  const wait = notBefore === null ? {} : { notBefore: toTimestamp(notBefore) };
  return {
    case: "modelCallRetried",
    value: { callId: callInFlight(turn).callId, attempt: turn.attempts, reason, fallbackModelUsed, ...wait },
  };
}
