import { toTimestamp, type Instant, type NewFact } from "../shared/index.js";

/**
 * Every way a turn can fail. `docs/turns.md` says what each means. These words are kept for ever, so they say nothing of
 * what anybody said: what a provider has answered is with the call of the model.
 */
export const turnFailures = {
  FAILED_MODEL_OUTPUT: "The model's answer could not be used.",
  MODEL_UNAUTHORIZED: "The provider of the model does not know the key.",
  MODEL_PAYMENT_REQUIRED: "The provider of the model wants to be paid.",
  MODEL_REJECTED: "The provider of the model does not take the request.",
  MODEL_RATE_LIMITED: "The provider of the model wants to be left alone.",
  MODEL_UNAVAILABLE: "The provider of the model does not answer.",
  MODEL_TIMEOUT: "The model took longer than it may.",
  DAILY_TOKEN_BUDGET_EXCEEDED: "The day's tokens are spent.",
  TURN_STEP_LIMIT: "The turn was not over after as many steps as it may have.",
  TURN_STEP_TIMEOUT: "One step took longer than it may.",
  TURN_INTERRUPTED: "A newer message came first.",
  TURN_LOST: "The server was stopped, or broke, too often in the middle of it.",
} as const;

export type TurnFailure = keyof typeof turnFailures;

/** `retryAt` is when it makes sense again, if that is known. */
export function turnFailed(code: TurnFailure, retryable: boolean, retryAt: Instant | null = null): NewFact {
  const at = retryAt === null ? {} : { retryAt: toTimestamp(retryAt) };
  return { case: "turnFailed", value: { code, message: turnFailures[code], retryable, ...at } };
}
