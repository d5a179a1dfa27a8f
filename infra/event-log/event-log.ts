import type { Database, Statement } from "better-sqlite3";
import type {
  Append,
  Appended,
  AppendResult,
  CommandConflict,
  CommandKey,
  EventLog,
} from "../../commands/ports/index.js";
import { Subject, type Observable } from "rxjs";
import type { RecordedEvent } from "../../domain/shared/index.js";
import { Appender, eventsOf } from "./appender.js";
import type { Entropy } from "./entropy.js";
import { eraseEvents, type Erasure } from "./erasure.js";
import { isDiskTrouble, LogError, sqliteCode, toLogError } from "./errors.js";
import { LogReader, type Fresh } from "./log-reader.js";
import { truncateWal } from "./wal.js";

const queuedAppendsMax = 10_000;
const groupEventsMax = 2_000;
/** How long an append may wait for another process, and how often it looks. */
const busyMillisMax = 10_000;
const busyRetryMillis = 5;
/** How long the write-ahead log may get before it is copied into the database, and after how many events we look. */
const walPagesMax = 1_000;
const walLookEvents = 50;

/** One transaction that is durable: how many appends shared it, and how long each has waited for it. */
export interface Commit {
  readonly events: number;
  readonly waitedMillis: readonly number[];
}

interface Pending {
  readonly append: Append;
  readonly since: number;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/** The log of one file, open for reading and writing. `openLog` makes one. */
export class SqliteEventLog extends LogReader implements EventLog {
  readonly #appender: Appender;
  readonly #queue: Pending[] = [];
  readonly #begin: Statement;
  readonly #end: Statement;
  readonly #walPages: Statement<[], { log: number }>;
  readonly #committed = new Subject<Commit>();
  #flushPlanned = false;
  /** What the commit that is being announced has recorded. */
  #fresh: readonly RecordedEvent[] = [];
  #eventsSinceLook = 0;
  #failure: LogError | null = null;

  constructor(db: Database, entropy: Entropy) {
    super(db);
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#end = db.prepare("COMMIT");
    this.#walPages = db.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#appender = new Appender(db, this.heads, entropy);
  }

  /** Emits after each transaction. */
  get committed(): Observable<Commit> {
    return this.#committed;
  }

  append(append: Append): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) {
        reject(this.#failure);
      } else if (this.#queue.length >= queuedAppendsMax) {
        reject(new LogError("overloaded", this.file, null, `${queuedAppendsMax} appends are waiting already`));
      } else {
        this.#queue.push({ append, since: performance.now(), resolve, reject });
        this.#planFlush();
      }
    });
  }

  override fresh(afterPosition: number): Fresh | null {
    const directlyFollows = this.#fresh[0]?.position === afterPosition + 1;
    return directlyFollows ? { events: this.#fresh, head: this.heads.log() } : null;
  }

  recall(command: CommandKey): Appended | CommandConflict | null {
    return this.#appender.recall(command);
  }

  /** Makes events unreadable for good and records that it was done. Their place in the chain stays. */
  async erase(erasure: Erasure): Promise<RecordedEvent> {
    const since = performance.now();
    for (;;) {
      const erased = this.#commit(since, () => eraseEvents(this.db, this.#appender, erasure));
      if (erased === "busy") {
        await new Promise((resolve) => setTimeout(resolve, busyRetryMillis));
        continue;
      }
      await this.#truncateWal(since);
      return erased;
    }
  }

  /** Until the WAL is gone, erased bytes are still in it; and it cannot go while somebody reads. */
  async #truncateWal(since: number): Promise<void> {
    while (!truncateWal(this.db)) {
      if (performance.now() - since > busyMillisMax) {
        throw new LogError("busy", this.file, null, "erased, but a reader keeps the bytes in the write-ahead log");
      }
      await new Promise((resolve) => setTimeout(resolve, busyRetryMillis));
    }
  }

  override close(): void {
    this.#rejectAll(new LogError("unavailable", this.file, null, "the log is closed"));
    super.close();
  }

  #planFlush(delayMillis = 0): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    const flush = () => {
      this.#flush();
    };
    // After everything that is runnable now: whoever else wants to append joins the same transaction.
    if (delayMillis === 0) setImmediate(flush);
    else setTimeout(flush, delayMillis);
  }

  #flush(): void {
    this.#flushPlanned = false;
    const group = this.#takeGroup();
    const [first] = group;
    if (first === undefined) return;
    try {
      const results = this.#commit(first.since, () => this.#appender.appendGroup(group.map(({ append }) => append)));
      if (results === "busy") {
        this.#queue.unshift(...group);
        this.#planFlush(busyRetryMillis);
        return;
      }
      this.#tell(group);
      for (const [index, { resolve, reject }] of group.entries()) {
        const result = results[index];
        if (result?.outcome === "impossible") reject(result.error);
        else if (result !== undefined) resolve(result);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    if (this.#queue.length > 0) this.#planFlush();
  }

  #tell(group: readonly Pending[]): void {
    if (!this.#committed.observed) return;
    const now = performance.now();
    this.#committed.next({
      events: group.reduce((sum, { append }) => sum + eventsOf(append), 0),
      waitedMillis: group.map(({ since }) => now - since),
    });
  }

  #takeGroup(): Pending[] {
    let events = 0;
    const end = this.#queue.findIndex(({ append }, index) => {
      events += eventsOf(append);
      return index > 0 && events > groupEventsMax;
    });
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end);
  }

  /** One durable transaction. Answers "busy" while another process writes and there is time left to wait. */
  #commit<T>(since: number, work: () => T): T | "busy" {
    if (this.#failure !== null) throw this.#failure;
    this.#checkpointIfDue();
    let result: T;
    try {
      this.#begin.run();
      this.forgetIfForeign();
      result = work();
      this.#end.run();
    } catch (error) {
      const isBusy = sqliteCode(error).startsWith("SQLITE_BUSY");
      // On a full disk or an I/O error SQLite may have rolled back already.
      if (this.db.inTransaction) this.db.exec("ROLLBACK");
      this.heads.forget();
      this.#appender.takeRecorded();
      if (isBusy && performance.now() - since < busyMillisMax) return "busy";
      throw this.#fail(error);
    }
    this.#fresh = this.#appender.takeRecorded();
    this.#eventsSinceLook += this.#fresh.length;
    this.announceGrowth(this.heads.log().position);
    this.#fresh = [];
    return result;
  }

  /** SQLite's own checkpoint keeps its failures to itself; this one does not. On a full disk, the WAL waits. */
  #checkpointIfDue(): void {
    if (this.#eventsSinceLook < walLookEvents) return;
    this.#eventsSinceLook = 0;
    if ((this.#walPages.get()?.log ?? 0) < walPagesMax) return;
    try {
      this.db.pragma("wal_checkpoint(PASSIVE)");
    } catch (error) {
      if (sqliteCode(error) !== "SQLITE_FULL") throw this.#fail(error);
    }
  }

  #fail(error: unknown): unknown {
    if (!isDiskTrouble(error)) return error;
    const failure = toLogError(error, this.file);
    // After a failed fsync nobody knows what is on the disk. Whoever opens the log anew will.
    if (failure.trouble === "failed" || failure.trouble === "broken") this.giveUp(failure);
    return failure;
  }

  protected override giveUp(failure: LogError): void {
    this.#rejectAll(failure);
    super.giveUp(failure);
  }

  #rejectAll(failure: LogError): void {
    this.#failure ??= failure;
    for (const { reject } of this.#queue.splice(0)) reject(failure);
  }
}
