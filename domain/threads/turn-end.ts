import { toTimestamp, type Instant, type NewFact } from "../shared/index.js";

/** Every way a turn can fail. `docs/protocol.md` says what each means. */
export const turnFailures = [
  "FAILED_MODEL_OUTPUT",
  "MODEL_UNAUTHORIZED",
  "MODEL_PAYMENT_REQUIRED",
  "MODEL_REJECTED",
  "MODEL_RATE_LIMITED",
  "MODEL_UNAVAILABLE",
  "MODEL_TIMEOUT",
  "DAILY_TOKEN_BUDGET_EXCEEDED",
  "TURN_STEP_LIMIT",
  "TURN_STEP_TIMEOUT",
  "TURN_INTERRUPTED",
  "TURN_LOST",
] as const;

export type TurnFailure = (typeof turnFailures)[number];

export function turnFailed(
  code: TurnFailure,
  message: string,
  retryable: boolean,
  retryAt: Instant | null = null,
): NewFact {
  const at = retryAt === null ? {} : { retryAt: toTimestamp(retryAt) };
  return { case: "turnFailed", value: { code, message: message.toWellFormed(), retryable, ...at } };
}
