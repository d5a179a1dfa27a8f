import type { Fact, RecordedEvent } from "../domain/shared/index.js";

const foldsMax = 1_000;

type Evolve<State> = (state: State, fact: Fact) => State;

interface Fold<State> {
  readonly state: State;
  readonly version: number;
}

/**
 * The states of streams that were read lately, so that a long stream is read once and then only what came since. A log
 * only grows, so a state never becomes wrong; but it may hold what was erased: then `forget`.
 */
export class Folds {
  readonly #known = new Map<string, { readonly evolve: unknown; readonly fold: Fold<unknown> }>();

  recall<State>(stream: string, evolve: Evolve<State>): Fold<State> | null {
    const known = this.#known.get(stream);
    return known?.evolve === evolve ? (known.fold as Fold<State>) : null;
  }

  remember<State>(stream: string, evolve: Evolve<State>, fold: Fold<State>): void {
    this.#known.delete(stream); // So that it is the latest.
    this.#known.set(stream, { evolve, fold });
    if (this.#known.size <= foldsMax) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** What was just recorded need not be read back. */
  follow(events: readonly RecordedEvent[]): void {
    for (const { stream, version, type, payload } of events) {
      const known = this.#known.get(stream);
      if (known?.fold.version !== version - 1) continue;
      const evolve = known.evolve as Evolve<unknown>;
      const state = evolve(known.fold.state, { case: type, value: payload } as Fact);
      this.#known.set(stream, { evolve, fold: { state, version } });
    }
  }

  /** Nobody will ask for it any more. */
  drop(stream: string): void {
    this.#known.delete(stream);
  }

  forget(): void {
    this.#known.clear();
  }
}
