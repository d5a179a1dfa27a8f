import { Subject, type Observable, type Subscription } from "rxjs";
import type { EventType } from "../../domain/shared/index.js";
import type { LogReader } from "./log-reader.js";

type Types = ReadonlySet<EventType>;

interface Waiting {
  readonly wake: () => void;
  /** What it waits for; null for anything. */
  readonly types: Types | null;
}

/**
 * Wakes those who wait for a thread, or for the whole log, to grow. With a thousand watchers, waking only those whom an
 * append concerns is what keeps it cheap. Whoever finds nothing to read and waits in the same breath misses nothing.
 */
export class Growth {
  readonly #waiting = new Map<string | null, Set<Waiting>>();
  readonly #subscription: Subscription;
  #seenPosition: number;
  readonly #erased = new Subject<void>();
  #erasures = 0;

  constructor(private readonly log: LogReader) {
    this.#seenPosition = log.head().position;
    this.#subscription = log.grown.subscribe({
      next: (position) => {
        this.#look(position);
      },
      error: () => {
        this.#wakeAll(); // They will find the log failed.
      },
    });
  }

  /**
   * Calls `wake` once when the thread has grown, or the log if it is null; if types are given, when one of them may have
   * come. Answers how to take that back.
   */
  onNext(threadId: string | null, wake: () => void, types: Types | null = null): () => void {
    const all = this.#waiting.get(threadId) ?? new Set();
    const waiting = { wake, types };
    this.#waiting.set(threadId, all.add(waiting));
    return () => {
      this.#forget(threadId, waiting);
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

  #look(position: number): void {
    const fresh = this.log.fresh(this.#seenPosition);
    this.#seenPosition = position;
    const came = fresh === null ? null : new Set(fresh.events.map(({ type }) => type));
    if (came?.has("eventsErased") !== false) {
      this.#erasures += 1;
      this.#erased.next();
    }
    if (fresh === null) {
      this.#wakeAll(); // Another process wrote, and we are not told what.
      return;
    }
    for (const threadId of new Set(fresh.events.map((event) => event.threadId))) this.#wake(threadId, came);
    this.#wake(null, came);
  }

  #wakeAll(): void {
    for (const threadId of [...this.#waiting.keys()]) this.#wake(threadId, null);
  }

  /** Those of a thread who wait for one of the types that came; all of them, if that is not known. */
  #wake(threadId: string | null, came: Types | null): void {
    for (const waiting of [...(this.#waiting.get(threadId) ?? [])]) {
      if (!isFor(waiting, came)) continue;
      this.#forget(threadId, waiting);
      waiting.wake();
    }
  }

  #forget(threadId: string | null, waiting: Waiting): void {
    const all = this.#waiting.get(threadId);
    all?.delete(waiting);
    if (all?.size === 0) this.#waiting.delete(threadId);
  }
}

function isFor({ types }: Waiting, came: Types | null): boolean {
  return types === null || came === null || [...types].some((type) => came.has(type));
}
