import type { Clock, Timers } from "../../commands/ports/index.js";
import { noon } from "../support/appends.js";

/** How much faster than ours the time of these cases runs: a retry after five seconds comes after five milliseconds. */
const usualRate = 1_000;

/** A time of its own, which goes on across restarts, and can be set forward. */
export class FastTime {
  #added = 0;

  /** `since` is when it began, of our time: another process that knows it has the same time. */
  constructor(
    private readonly rate = usualRate,
    readonly since = ourTime(),
  ) {}

  readonly clock: Clock = {
    now: () => Math.round(noon + this.#added + (ourTime() - this.since) * this.rate),
  };

  skip(millis: number): void {
    this.#added += millis;
  }

  /** What was set by somebody who is dead does not happen. */
  timers(isDead: () => boolean): Timers {
    return {
      after: (millis, act) => {
        const timer = setTimeout(() => {
          if (!isDead()) act();
        }, millis / this.rate);
        return () => {
          clearTimeout(timer);
        };
      },
    };
  }
}

function ourTime(): number {
  return performance.timeOrigin + performance.now();
}
