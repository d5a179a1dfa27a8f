import { Subject, type Observable, type Subscription } from "rxjs";
import type { LogReader } from "./log-reader.js";

/**
 * Wakes those who wait for a thread, or for the whole log, to grow. With a thousand watchers, waking only those whom an
 * append concerns is what keeps it cheap. Whoever finds nothing to read and waits in the same breath misses nothing.
 */
export class Growth {
  readonly #waiting = new Map<string | null, Set<() => void>>();
  readonly #subscription: Subscription;
  #seenPosition: number;
  readonly #erased = new Subject<void>();
  #erasures = 0;

  constructor(private readonly log: LogReader) {
    this.#seenPosition = log.head().position;
    this.#subscription = log.grown.subscribe({
      next: (position) => {
        this.#wake(position);
      },
      error: () => {
        this.#wakeAll(); // They will find the log failed.
      },
    });
  }

  /** Calls `wake` once when the thread has grown, or the log if it is null. Answers how to take that back. */
  onNext(threadId: string | null, wake: () => void): () => void {
    const waiting = this.#waiting.get(threadId) ?? new Set();
    this.#waiting.set(threadId, waiting);
    waiting.add(wake);
    return () => {
      waiting.delete(wake);
      if (waiting.size === 0 && this.#waiting.get(threadId) === waiting) this.#waiting.delete(threadId);
    };
  }

  /** Changes when something may have been erased: whoever still holds what it read before must read it again. */
  get erasures(): number {
    return this.#erasures;
  }

  /** Emits when that changes. */
  get erased(): Observable<void> {
    return this.#erased;
  }

  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  close(): void {
    this.#subscription.unsubscribe();
    this.#wakeAll();
  }

  #wake(position: number): void {
    const fresh = this.log.fresh(this.#seenPosition);
    this.#seenPosition = position;
    if (fresh?.events.some(({ type }) => type === "eventsErased") !== false) {
      this.#erasures += 1;
      this.#erased.next();
    }
    if (fresh === null) {
      this.#wakeAll(); // Another process wrote, and we are not told what.
      return;
    }
    for (const threadId of new Set(fresh.events.map((event) => event.threadId))) this.#wakeThose(threadId);
    this.#wakeThose(null);
  }

  #wakeAll(): void {
    for (const threadId of [...this.#waiting.keys()]) this.#wakeThose(threadId);
  }

  #wakeThose(threadId: string | null): void {
    const waiting = this.#waiting.get(threadId);
    this.#waiting.delete(threadId);
    for (const wake of waiting ?? []) wake();
  }
}
