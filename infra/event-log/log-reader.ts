import { statSync } from "node:fs";
import type { Database, Statement } from "better-sqlite3";
import { Subject, type Observable } from "rxjs";
import type { Secrets } from "../../commands/ports/index.js";
import type { RecordedEvent } from "../../domain/shared/index.js";
import { genesisHash, toHex, type ChainRow } from "./chain.js";
import { selectChain, toChainRow, type ChainColumns } from "./chain-rows.js";
import { LogError, toLogError } from "./errors.js";
import { Heads, requireSafe, type Head } from "./heads.js";
import { pluck } from "./pluck.js";
import { decode, type StoredEvent } from "./record.js";
import { WireReader } from "./wire-reader.js";

export const pageEventsMax = 500;
/** How far one page may look for the types it wants; a search through nothing but others must end, too. */
const pageSpanMax = 20_000;
const shortSpan = 64;
const foreignPollMillis = 25;

/** What one page of a filtered read found, and how far it looked. */
export interface Page {
  readonly events: readonly StoredEvent[];
  /** Every position up to here was considered. */
  readonly throughPosition: number;
}

/** The events of a commit that is being announced, and the head after it. */
export interface Fresh {
  readonly events: readonly RecordedEvent[];
  readonly head: Head;
}

export interface LogStats {
  readonly events: number;
  readonly streams: number;
  readonly threads: number;
  readonly erased: number;
  readonly event_bytes: number;
  readonly file_bytes: number;
  readonly types: readonly { readonly type: string; readonly events: number }[];
}

/**
 * A log, open for reading. It reads in pages, by key, and never holds an iterator across an await: that would keep
 * the connection busy, and the WAL could not be checkpointed.
 */
export class LogReader implements Secrets {
  protected readonly heads: Heads;
  protected readonly growth = new Subject<number>();
  /** For streams. */
  readonly wire: WireReader;
  readonly #all: Statement<[number, number], StoredEvent>;
  readonly #chain: Statement<[number, number], ChainColumns>;
  readonly #endOfChain: Statement<[number], ChainColumns>;
  readonly #stream: Statement<[string, number, number], StoredEvent>;
  readonly #thread: Statement<[string, number, number], StoredEvent>;
  readonly #firstAfter: Statement<[string], number | null>;
  readonly #dataVersion: Statement<[], number>;
  readonly #poll: NodeJS.Timeout;
  readonly #hash: Statement<[number], Uint8Array>;
  readonly #firstReadable: Statement<[string, number], number | null>;
  readonly #firstEventId: Statement<[], string>;
  readonly #secret: Statement<[string], Uint8Array>;
  readonly #inode: number;
  #seenDataVersion: number | undefined;
  #announced = 0;

  constructor(protected readonly db: Database) {
    this.heads = new Heads(db);
    this.wire = new WireReader(db);
    this.#inode = statSync(db.name).ino;
    this.#all = db.prepare("SELECT * FROM events WHERE position > ? ORDER BY position LIMIT ?");
    this.#chain = db
      .prepare<[number, number], ChainColumns>(`${selectChain} WHERE position > ? ORDER BY position LIMIT ?`)
      .raw();
    this.#endOfChain = db.prepare<[number], ChainColumns>(`${selectChain} ORDER BY position DESC LIMIT ?`).raw();
    this.#stream = db.prepare("SELECT * FROM events WHERE stream = ? AND version > ? ORDER BY version LIMIT ?");
    this.#thread = db.prepare("SELECT * FROM events WHERE thread_id = ? AND sequence > ? ORDER BY sequence LIMIT ?");
    this.#firstAfter = pluck(db, "SELECT min(position) FROM events WHERE occurred_at > ?");
    this.#dataVersion = pluck(db, "PRAGMA data_version");
    this.#hash = pluck(db, "SELECT hash FROM events WHERE position = ?");
    this.#firstReadable = pluck(
      db,
      `SELECT min(sequence) FROM events WHERE thread_id = ? AND sequence > ? AND event IS NOT NULL`,
    );
    this.#firstEventId = pluck(db, "SELECT event_id FROM events WHERE position = 1");
    this.#secret = pluck(db, "SELECT value FROM secrets WHERE id = ?");
    this.#poll = setInterval(() => {
      this.noticeForeignCommits();
    }, foreignPollMillis).unref();
  }

  get file(): string {
    return this.db.name;
  }

  get isOpen(): boolean {
    return this.db.open;
  }

  /** Emits the position of the last event whenever the log has grown; errors once the log has failed. */
  get grown(): Observable<number> {
    return this.growth;
  }

  /** Where the log ends now, whoever wrote last. */
  head(): Head {
    this.forgetIfForeign();
    return this.heads.log();
  }

  /** The sequence of a thread's last event; 0 if there is none. */
  threadHead(threadId: string): number {
    this.forgetIfForeign();
    return this.heads.threadSequence(threadId);
  }

  /**
   * The first sequence of a thread after which everything can be read from `afterSequence` on: what lies before was
   * erased, or never was, because the log was restored from an older copy. One more than the last if nothing is left.
   */
  firstReadable(threadId: string, afterSequence: number): number {
    const head = this.threadHead(threadId);
    const from = afterSequence > head ? 0 : afterSequence;
    return this.#firstReadable.get(threadId, from) ?? head + 1;
  }

  /** Tells one log from another: the id of its first event; empty as long as it is. */
  epoch(): string {
    return this.#firstEventId.get() ?? "";
  }

  /** The hash of the event at a position, in hex; null if there is none. */
  hashAt(position: number): string | null {
    if (position === 0) return genesisHash;
    const hash = this.#hash.get(position);
    return hash === undefined ? null : toHex(hash);
  }

  secret(id: string): Uint8Array | null {
    return this.#secret.get(id) ?? null;
  }

  /** Stored events with a position above `afterPosition`, in order. */
  readAll(afterPosition: number, limit: number): readonly StoredEvent[] {
    return this.#checked(this.#all.all(afterPosition, bounded(limit)));
  }

  /** Rows as the chain sees them. Numbers beyond 2^53 are rounded: verification finds them itself, at their place. */
  readChain(afterPosition: number, limit: number): readonly ChainRow[] {
    return this.#chain.all(afterPosition, bounded(limit)).map(toChainRow);
  }

  /** The last rows of the chain, in order. */
  readEndOfChain(limit: number): readonly ChainRow[] {
    return this.#endOfChain.all(bounded(limit)).map(toChainRow).reverse();
  }

  /** Stored events of one thread with a sequence above `afterSequence`, in order. */
  readThread(threadId: string, afterSequence: number, limit: number): readonly StoredEvent[] {
    return this.#checked(this.#thread.all(threadId, afterSequence, bounded(limit)));
  }

  streamVersion(stream: string): number {
    this.forgetIfForeign();
    return this.heads.streamVersion(stream);
  }

  readStream(stream: string, afterVersion: number, limit: number): readonly RecordedEvent[] {
    return this.#checked(this.#stream.all(stream, afterVersion, bounded(limit))).map((row) => this.decode(row));
  }

  /**
   * Pages of everything but the types given. It names what it leaves out, not what it wants: a type that nobody here
   * has heard of must reach the caller, not vanish.
   */
  except(types: readonly string[], limit: number): (afterPosition: number, throughPosition: number) => Page {
    const left = new Set(types);
    // SQLite builds a table of the types each time it runs this: worth it for a long way, not for one event.
    const readLong = this.db.prepare<[number, number, number], StoredEvent>(
      `SELECT * FROM events WHERE position > ? AND position <= ? AND type NOT IN (${quoted(types)})
       ORDER BY position LIMIT ?`,
    );
    return (afterPosition, throughPosition) => {
      const spanEnd = Math.min(afterPosition + pageSpanMax, throughPosition);
      if (spanEnd - afterPosition <= shortSpan) {
        const events = this.readAll(afterPosition, spanEnd - afterPosition).filter(({ type }) => !left.has(type));
        return { events, throughPosition: spanEnd };
      }
      const events = this.#checked(readLong.all(afterPosition, spanEnd, bounded(limit)));
      const last = events.length === bounded(limit) ? events.at(-1) : undefined;
      return { events, throughPosition: last?.position ?? spanEnd };
    };
  }

  /** What was committed just now, if it directly follows `afterPosition`: it need not be read back. */
  fresh(_afterPosition: number): Fresh | null {
    return null;
  }

  /** The last position before the log first went past `instant` (RFC 3339, UTC). */
  positionAt(instant: string): number {
    const next = this.#firstAfter.get(instant) ?? null;
    return next === null ? this.head().position : next - 1;
  }

  decode(row: StoredEvent): RecordedEvent {
    return decode(row, this.file);
  }

  stats(): LogStats {
    const totals = this.db.prepare(`
      SELECT count(*) AS events, count(DISTINCT stream) AS streams, count(DISTINCT thread_id) AS threads,
             ifnull(sum(event IS NULL), 0) AS erased, ifnull(sum(length(event)), 0) AS event_bytes
      FROM events`);
    const types = this.db.prepare(
      "SELECT type, count(*) AS events FROM events GROUP BY type ORDER BY events DESC, type",
    );
    const fileBytes = this.db.prepare("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").pluck();
    return {
      ...(totals.get() as Omit<LogStats, "types" | "file_bytes">),
      file_bytes: fileBytes.get() as number,
      types: types.all() as LogStats["types"],
    };
  }

  /** What SQLite finds wrong with the file: a damaged page, an index that differs from the table. */
  findFileDamage(): string | null {
    const finding = this.db.pragma("integrity_check(1)", { simple: true }) as string;
    return finding === "ok" ? null : finding;
  }

  /** Another process may write to the same file; SQLite tells us that it did, not when. */
  noticeForeignCommits(): void {
    if (!this.isOpen) return;
    try {
      this.#requireSameFile();
      this.announceGrowth(this.head().position);
    } catch (error) {
      clearInterval(this.#poll);
      this.giveUp(toLogError(error, this.file));
    }
  }

  /** Ends it: nothing more can be known of this file. */
  protected giveUp(failure: LogError): void {
    this.growth.error(failure);
  }

  /** What is written to a file that was deleted, or moved away, is lost with the process. */
  #requireSameFile(): void {
    const found = statSync(this.file, { throwIfNoEntry: false });
    if (found?.ino === this.#inode) return;
    throw new LogError("failed", this.file, null, "the file is gone, or another one is in its place");
  }

  protected announceGrowth(position: number): void {
    if (position <= this.#announced) return;
    this.#announced = position;
    this.growth.next(position);
  }

  close(): void {
    clearInterval(this.#poll);
    this.growth.complete();
    this.db.close();
  }

  protected forgetIfForeign(): void {
    const dataVersion = this.#dataVersion.get();
    if (dataVersion === this.#seenDataVersion) return;
    this.#seenDataVersion = dataVersion;
    this.heads.forget();
  }

  #checked(rows: StoredEvent[]): StoredEvent[] {
    for (const { position, version, sequence } of rows) {
      requireSafe(position, this.file);
      requireSafe(version, this.file);
      if (sequence !== null) requireSafe(sequence, this.file);
    }
    return rows;
  }
}

function quoted(types: readonly string[]): string {
  return types.map((type) => `'${type}'`).join(", ");
}

function bounded(limit: number): number {
  return Math.min(limit, pageEventsMax);
}
