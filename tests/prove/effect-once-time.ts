import type { Clock, Timers } from "../../commands/ports/index.js";
import { noon } from "../support/appends.js";

/** How much faster than ours the time of these cases runs: a retry after five seconds comes after five milliseconds. */
const rate = 1_000;

/** A time of its own, which goes on across restarts, and can be set forward. */
export class FastTime {
  readonly #since = performance.now();
  #added = 0;

  readonly clock: Clock = {
    now: () => Math.round(noon + this.#added + (performance.now() - this.#since) * rate),
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
        }, millis / rate);
        return () => {
          clearTimeout(timer);
        };
      },
    };
  }
}
