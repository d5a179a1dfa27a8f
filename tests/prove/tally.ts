import type { Finding, OnProgress } from "./proof.js";

/** Counts cases, those that broke the promise, and figures on the way. */
export class Tally {
  #n = 0;
  #violations = 0;
  #first: string | undefined;
  readonly #figures = new Map<string, number>();

  constructor(private readonly onProgress: OnProgress = () => undefined) {}

  /** One case is done; `problem` says how it broke the promise, or null. */
  case(problem: string | null): void {
    this.#n++;
    if (problem !== null) {
      this.#violations++;
      this.#first ??= problem;
    }
    this.onProgress(this.#n);
  }

  add(figure: string, amount: number): void {
    this.#figures.set(figure, (this.#figures.get(figure) ?? 0) + amount);
  }

  max(figure: string, value: number): void {
    this.#figures.set(figure, Math.max(this.#figures.get(figure) ?? value, value));
  }

  finding(): Finding {
    return {
      n: this.#n,
      violations: this.#violations,
      ...(this.#first !== undefined && { first: this.#first }),
      figures: Object.fromEntries(this.#figures),
    };
  }
}
