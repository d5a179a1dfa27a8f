import { rmSync } from "node:fs";
import { join } from "node:path";
import Database, { type Statement } from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import type { Logger } from "pino";
import { Subject, type Observable } from "rxjs";
import type { Projection } from "../../projections/shared/projection.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { databaseSuffixes, truncateWal, pluck, sqliteCode } from "../event-log/index.js";
import { makePrivate, makePrivateDirectory, withPrivateUmask } from "../files/private.js";
import {
  createBookkeeping,
  definitionOf,
  isDamage,
  readCheckpoints,
  requireBookkeeping,
  type Checkpoint,
} from "./bookkeeping.js";
import { withPrepared } from "./prepared.js";
import { ReadModelView } from "./view.js";

/** A rebuild in another process writes in short transactions; this is long enough to get in between. */
const lockWaitMillis = 250;
const commitDelayMillis = 5;
/** Copying the write-ahead log into the file syncs it: rarely, for a cache. */
const walPagesMax = 8_000;
const forgetRetryMillis = 50;
/** The file's `user_version` while there may be something in it that must be forgotten. */
const holdsDeleted = 1;

export function readModelsFile(dataDirectory: string): string {
  return join(dataDirectory, "read-models.db");
}

/** The file of the read models: a cache, so it may be lost, but never wrong. */
export class ReadModelStore {
  readonly query: Kysely<ReadModelTables>;
  readonly #lost = new Subject<unknown>();
  readonly #saveCheckpoint: Statement;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #dataVersion: Statement<[], number>;
  readonly #unsavedCheckpoints = new Map<string, Checkpoint>();
  #checkpoints: Map<string, Checkpoint> | null = null;
  #seenDataVersion: number | undefined;
  #holdsDeleted: boolean;
  #commitTimer: NodeJS.Timeout | undefined;
  #forgetTimer: NodeJS.Timeout | undefined;

  private constructor(readonly db: Database.Database) {
    this.#saveCheckpoint = db.prepare(`
      INSERT INTO checkpoints VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET definition = excluded.definition, position = excluded.position, hash = excluded.hash`);
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#dataVersion = pluck(db, "PRAGMA data_version");
    this.#holdsDeleted = db.pragma("user_version", { simple: true }) === holdsDeleted;
    this.query = new Kysely<ReadModelTables>({ dialect: new SqliteDialect({ database: withPrepared(db) }) });
  }

  /** Opens the file, or makes it. One that is damaged or not a database is thrown away: it comes back from the log. */
  static open(dataDirectory: string, logger: Logger): ReadModelStore {
    const file = readModelsFile(dataDirectory);
    makePrivateDirectory(dataDirectory);
    for (const suffix of databaseSuffixes) makePrivate(file + suffix);
    try {
      return new ReadModelStore(openDatabase(file));
    } catch (error) {
      if (!isDamage(error)) throw new Error(`${file}: cannot be opened (${String(error)})`, { cause: error });
      logger.warn({ file, error: String(error) }, "the read models are damaged and will be rebuilt from the log");
      discard(file);
      return new ReadModelStore(openDatabase(file));
    }
  }

  get file(): string {
    return this.db.name;
  }

  /** Emits why changes that were made could not be committed: the tables are back at their checkpoints. */
  get lost(): Observable<unknown> {
    return this.#lost;
  }

  /** How far each projection has come, by name. Remembered until somebody else may have changed it. */
  checkpoints(): ReadonlyMap<string, Checkpoint> {
    if (!this.db.inTransaction) this.#forgetIfForeign();
    return (this.#checkpoints ??= readCheckpoints(this.db));
  }

  /** Part of the transaction that is open, and written at its end: of many in a row only the last one counts. */
  saveCheckpoint(projection: Projection, position: number, hash: string): void {
    const checkpoint = { definition: definitionOf(projection), position, hash };
    this.#unsavedCheckpoints.set(projection.name, checkpoint);
    (this.#checkpoints ??= readCheckpoints(this.db)).set(projection.name, checkpoint);
  }

  /**
   * Changes that this process sees at once, and others a moment later: whatever follows within `commitDelayMillis` is
   * committed with it, because a commit costs more than the change. If the process dies before, the log has it still.
   */
  change(work: () => void): void {
    this.#orRollBack(() => {
      if (!this.db.inTransaction) {
        this.#beginNow();
        this.#commitTimer = setTimeout(() => {
          this.#inTime(() => {
            this.commit();
          });
        }, commitDelayMillis);
      }
      work();
    });
  }

  /** Commits what `change` has left open. If that fails, it is lost, and `lost` says so, too. */
  commit(): void {
    if (!this.db.inTransaction) return;
    clearTimeout(this.#commitTimer);
    try {
      this.#orRollBack(() => {
        this.#end();
      });
    } catch (error) {
      this.#lost.next(error);
      throw error;
    }
  }

  /** A transaction of its own. Begins with the write lock, so that it cannot fail half way for want of it. */
  transaction<T>(work: () => T): T {
    this.commit();
    return this.#orRollBack(() => {
      this.#beginNow();
      const result = work();
      this.#end();
      return result;
    });
  }

  /** Part of the transaction that is open: what it deletes was erased from the log, and must not stay in this file. */
  mustForget(): void {
    this.#holdsDeleted = true;
    this.db.pragma(`user_version = ${holdsDeleted}`);
  }

  /**
   * Makes that what must be forgotten is in none of the files: at once, or as soon as others let us. SQLite overwrites
   * what it deletes, but not the copies it may leave where it moves rows about: only VACUUM leaves nothing.
   */
  forgetDeleted(): void {
    if (!this.#holdsDeleted) return;
    clearTimeout(this.#forgetTimer);
    this.commit();
    if (this.#leavesNothing()) {
      this.db.pragma("user_version = 0");
      this.#holdsDeleted = false;
      return;
    }
    this.#forgetTimer = setTimeout(() => {
      this.#inTime(() => {
        this.forgetDeleted();
      });
    }, forgetRetryMillis);
  }

  #leavesNothing(): boolean {
    try {
      this.db.exec("VACUUM");
      return truncateWal(this.db);
    } catch (error) {
      if (isPassing(error)) return false;
      throw error;
    }
  }

  openView(): ReadModelView {
    this.commit();
    return ReadModelView.open(this.file);
  }

  close(): void {
    clearTimeout(this.#forgetTimer);
    try {
      this.commit();
    } finally {
      this.db.close();
    }
  }

  /** For a file that turned out to be damaged: the next start makes a new one. */
  closeAndDiscard(): void {
    clearTimeout(this.#commitTimer);
    clearTimeout(this.#forgetTimer);
    this.db.close();
    discard(this.file);
  }

  #inTime(work: () => void): void {
    try {
      work();
    } catch {
      // Nobody waits here for an answer; those who care listen to `lost`.
    }
  }

  #beginNow(): void {
    this.#begin.run();
    this.#forgetIfForeign();
  }

  #end(): void {
    for (const [name, { definition, position, hash }] of this.#unsavedCheckpoints) {
      this.#saveCheckpoint.run(name, definition, position, hash);
    }
    this.#commit.run();
    this.#unsavedCheckpoints.clear();
  }

  #orRollBack<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      clearTimeout(this.#commitTimer);
      if (this.db.inTransaction) this.db.exec("ROLLBACK");
      this.#checkpoints = null;
      this.#unsavedCheckpoints.clear();
      throw sqliteCode(error) === "" ? error : new Error(`${this.file}: ${String(error)}`, { cause: error });
    }
  }

  /** Another process may have rebuilt a projection. */
  #forgetIfForeign(): void {
    const dataVersion = this.#dataVersion.get();
    if (dataVersion === this.#seenDataVersion) return;
    this.#seenDataVersion = dataVersion;
    this.#checkpoints = null;
  }
}

/** Trouble that may be over in a moment: another process is writing, or the disk is full. */
export function isPassing(error: unknown): boolean {
  const code = sqliteCode(error);
  return code.startsWith("SQLITE_BUSY") || code === "SQLITE_FULL";
}

function openDatabase(file: string): Database.Database {
  return withPrivateUmask(() => {
    const db = new Database(file, { timeout: lockWaitMillis });
    try {
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = NORMAL"); // After a power cut it may be behind its log, but it is whole.
      db.pragma(`wal_autocheckpoint = ${walPagesMax}`);
      db.pragma("secure_delete = ON"); // What the owner had erased must not linger in a cache.
      createBookkeeping(db);
      requireBookkeeping(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

function discard(file: string): void {
  for (const suffix of databaseSuffixes) rmSync(file + suffix, { force: true });
}
