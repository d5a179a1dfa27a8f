import type { Database, Statement } from "better-sqlite3";
import { genesisHash, toHex } from "./chain.js";
import { LogError } from "./errors.js";
import { pluck } from "./pluck.js";

const cachedHeadsMax = 20_000;

export interface Head {
  /** 0 for an empty log. */
  readonly position: number;
  /** Hex. */
  readonly hash: string;
}

export const emptyHead: Head = { position: 0, hash: genesisHash };

/**
 * Where the log and its streams and threads end. Remembered between appends, because looking up is slower than
 * knowing; forgotten when another process has written, or when a transaction did not commit.
 */
export class Heads {
  #log: Head | null = null;
  readonly #streams = new Map<string, number>();
  readonly #threads = new Map<string, number>();
  readonly #lastEvent: Statement<[], { position: number; hash: Uint8Array }>;
  readonly #lastVersion: Statement<[string], number | null>;
  readonly #lastSequence: Statement<[string], number | null>;

  constructor(private readonly db: Database) {
    this.#lastEvent = db.prepare("SELECT position, hash FROM events ORDER BY position DESC LIMIT 1");
    this.#lastVersion = pluck(db, "SELECT max(version) FROM events WHERE stream = ?");
    this.#lastSequence = pluck(db, "SELECT max(sequence) FROM events WHERE thread_id = ?");
  }

  log(): Head {
    return (this.#log ??= this.#readLog());
  }

  streamVersion(stream: string): number {
    return remember(this.#streams, stream, () => this.#safe(this.#lastVersion.get(stream) ?? 0));
  }

  threadSequence(threadId: string): number {
    return remember(this.#threads, threadId, () => this.#safe(this.#lastSequence.get(threadId) ?? 0));
  }

  advanceLog(head: Head): void {
    this.#log = head;
  }

  advanceStream(stream: string, version: number): void {
    this.#streams.set(stream, version);
  }

  advanceThread(threadId: string, sequence: number): void {
    this.#threads.set(threadId, sequence);
  }

  forget(): void {
    this.#log = null;
    this.#streams.clear();
    this.#threads.clear();
  }

  #readLog(): Head {
    const last = this.#lastEvent.get();
    return last === undefined ? emptyHead : { position: this.#safe(last.position), hash: toHex(last.hash) };
  }

  #safe(number: number): number {
    return requireSafe(number, this.db.name);
  }
}

/** SQLite counts to 2^63, JavaScript exactly to 2^53: what lies between would be rounded in silence. */
export function requireSafe(number: number, file: string): number {
  if (Number.isSafeInteger(number)) return number;
  throw new LogError("broken", file, null, `the number ${number} is beyond 2^53 and cannot be counted exactly`);
}

function remember(cache: Map<string, number>, key: string, lookUp: () => number): number {
  const known = cache.get(key);
  if (known !== undefined) return known;
  if (cache.size >= cachedHeadsMax) cache.clear();
  const found = lookUp();
  cache.set(key, found);
  return found;
}
