import type { Database, Statement } from "better-sqlite3";

/** Where an event is in its thread, or in the log, and its bytes as a client gets them; null once it was erased. */
export type WireEvent = readonly [cursor: number, bytes: Uint8Array | null];

/** Reads what streams send, and no more: a whole row takes several times as long, most of it for columns. */
export class WireReader {
  readonly #thread: Statement<[string, number, number], WireEvent>;
  readonly #log: Statement<[number, number], WireEvent>;

  constructor(db: Database) {
    this.#thread = db
      .prepare<[string, number, number], WireEvent>(
        "SELECT sequence, event FROM events WHERE thread_id = ? AND sequence > ? ORDER BY sequence LIMIT ?",
      )
      .raw();
    this.#log = db
      .prepare<[number, number], WireEvent>(
        "SELECT position, event FROM events WHERE position > ? ORDER BY position LIMIT ?",
      )
      .raw();
  }

  /** Of a thread by sequence, or of the whole log by position if it is null; in order, after a cursor. */
  read(threadId: string | null, cursor: number, limit: number): readonly WireEvent[] {
    return threadId === null ? this.#log.all(cursor, limit) : this.#thread.all(threadId, cursor, limit);
  }
}
