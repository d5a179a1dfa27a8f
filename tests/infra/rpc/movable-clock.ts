import type { Clock } from "../../../commands/ports/index.js";
import type { Instant } from "../../../domain/shared/index.js";
import { systemClock } from "../../../infra/ports/system-clock.js";

/** The time, and however much the test has added to it. */
export interface MovableClock extends Clock {
  forward(millis: number): void;
}

export function movableClock(): MovableClock {
  let now: Instant = systemClock.now();
  return {
    now: () => now,
    forward: (millis) => {
      now += millis;
    },
  };
}
