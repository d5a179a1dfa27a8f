import { minute, refuse, second, type Instant, type Refusal } from "../shared/index.js";

/** Somebody tried a pairing code that was none. */
export interface FailedAttempt {
  readonly address: string;
  readonly at: Instant;
}

export const attemptWindowMillis = 10 * minute;
/** Together, whoever they come from: with three codes of 40 bits alive, a year of guessing finds one in three cases of a million. */
export const attemptsMax = 20;
export const attemptsPerAddressMax = 5;
const firstPauseMillis = second;

/** Whether one more may try now. `known` holds the failures of the last `attemptWindowMillis`, in their order. */
export function refuseAttempt(known: readonly FailedAttempt[], address: string, at: Instant): Refusal | null {
  // One of the future was made while the clock was wrong: it counts as made just now, and not for years to come.
  const failed = known.map((attempt) => ({ ...attempt, at: Math.min(attempt.at, at) }));
  const waitMillis = Math.max(
    untilFewer(failed, attemptsMax, at),
    untilFewer(ofAddress(failed, address), attemptsPerAddressMax, at),
    untilRested(ofAddress(failed, address), at),
  );
  return waitMillis > 0 ? refuse("pairing_rate_limited", { retryAfterSeconds: Math.ceil(waitMillis / second) }) : null;
}

function ofAddress(failed: readonly FailedAttempt[], address: string): FailedAttempt[] {
  return failed.filter((attempt) => attempt.address === address);
}

/** Until the oldest of the last `max` leaves the window. */
function untilFewer(failed: readonly FailedAttempt[], max: number, at: Instant): number {
  const oldest = failed.at(-max);
  return failed.length < max || oldest === undefined ? 0 : oldest.at + attemptWindowMillis - at;
}

/** Each failure doubles the pause. */
function untilRested(failed: readonly FailedAttempt[], at: Instant): number {
  const last = failed.at(-1);
  return last === undefined ? 0 : last.at + firstPauseMillis * 2 ** (failed.length - 1) - at;
}
