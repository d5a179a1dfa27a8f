import type { Timers } from "../../../commands/ports/index.js";

/** Timers of a time that passes when it is told to. */
export class ManualTimers implements Timers {
  readonly #waiting = new Set<{ readonly at: number; readonly act: () => void }>();
  #now = 0;

  get waiting(): number {
    return this.#waiting.size;
  }

  after(millis: number, act: () => void): () => void {
    const timer = { at: this.#now + millis, act };
    this.#waiting.add(timer);
    return () => {
      this.#waiting.delete(timer);
    };
  }

  pass(millis: number): void {
    this.#now += millis;
    for (const timer of [...this.#waiting].filter(({ at }) => at <= this.#now)) {
      this.#waiting.delete(timer);
      timer.act();
    }
  }
}
