import type { Failures } from "./failures.js";
import type { Awaited, ModelTimeouts } from "./timeouts.js";

/**
 * One question from its first packet to its last: the clocks that run meanwhile, and the one reason for which it ends
 * early. What goes wrong first is the reason; what breaks because of that is not news.
 */
export class Call {
  readonly #controller = new AbortController();
  readonly #total: NodeJS.Timeout;
  #clocksAreStopped = false;
  #step: NodeJS.Timeout | undefined;

  constructor(
    readonly failures: Failures,
    private readonly timeouts: ModelTimeouts,
    private readonly asker: AbortSignal,
  ) {
    this.#total = this.#startClock("total");
    asker.addEventListener("abort", this.#leave);
  }

  /** Aborted as soon as the connection is of no more use. Its reason is what the asker is told. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Says what comes next; the clock of what came before stops. */
  expect(next: Exclude<Awaited, "total">): void {
    clearTimeout(this.#step);
    if (!this.#clocksAreStopped) this.#step = this.#startClock(next);
  }

  /** Ends the call, hangs up, and says for which reason it ended: perhaps an earlier one. */
  fail(reason: unknown): unknown {
    this.#controller.abort(reason);
    return this.signal.reason;
  }

  /** From here on nothing of it can be late. */
  stopClocks(): void {
    this.#clocksAreStopped = true;
    clearTimeout(this.#step);
    clearTimeout(this.#total);
  }

  /** The call is over, well or not. */
  end(): void {
    this.stopClocks();
    this.asker.removeEventListener("abort", this.#leave);
  }

  #startClock(awaited: Awaited): NodeJS.Timeout {
    const millisMax = this.timeouts[`${awaited}MillisMax`];
    return setTimeout(() => this.fail(this.failures.late(awaited, millisMax)), millisMax);
  }

  readonly #leave = (): void => {
    this.#controller.abort(this.asker.reason);
  };
}
