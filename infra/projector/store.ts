import { rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import type { Logger } from "pino";
import type { Projection } from "../../projections/shared/projection.js";
import type { Table } from "../../read-models/shared/table.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { sqliteCode } from "../event-log/index.js";
import { makePrivateDirectory, withPrivateUmask } from "../files/private.js";
import { served, shadow, type Naming } from "./table-writer.js";

/** A rebuild in another process writes in short transactions; this is long enough to get in between. */
const lockWaitMillis = 250;

/** Up to which event a projection's rows tell the story. The hash tells which story. */
export interface Checkpoint {
  readonly version: number;
  readonly position: number;
  /** Hex. */
  readonly hash: string;
}

export function readModelsFile(dataDirectory: string): string {
  return join(dataDirectory, "read-models.db");
}

/** The file of the read models: a cache, so it may be lost, but never wrong. */
export class ReadModelStore {
  readonly query: Kysely<ReadModelTables>;
  readonly #saveCheckpoint: Database.Statement;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #dataVersion: Database.Statement;

  private constructor(readonly db: Database.Database) {
    this.#saveCheckpoint = db.prepare(`
      INSERT INTO checkpoints VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET version = excluded.version, position = excluded.position, hash = excluded.hash`);
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#dataVersion = db.prepare("PRAGMA data_version").pluck();
    this.query = new Kysely<ReadModelTables>({ dialect: new SqliteDialect({ database: db }) });
  }

  /** Opens the file, or makes it. One that is damaged or not a database is thrown away: it comes back from the log. */
  static open(dataDirectory: string, logger: Logger): ReadModelStore {
    const file = readModelsFile(dataDirectory);
    makePrivateDirectory(dataDirectory);
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

  checkpoints(): Map<string, Checkpoint> {
    const rows = this.db.prepare("SELECT * FROM checkpoints").all() as (Checkpoint & { projection: string })[];
    return new Map(rows.map(({ projection, version, position, hash }) => [projection, { version, position, hash }]));
  }

  saveCheckpoint(projection: Projection, position: number, hash: string): void {
    this.#saveCheckpoint.run(projection.name, projection.version, position, hash);
  }

  /** Changes whenever another connection has changed the file. */
  dataVersion(): number {
    return this.#dataVersion.get() as number;
  }

  /** Begins with the write lock, so that it cannot fail half way for want of it. */
  transaction<T>(work: () => T): T {
    this.#begin.run();
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.db.exec("ROLLBACK");
      throw error;
    }
  }

  /** Empty shadow tables, instead of what a rebuild that did not finish may have left. `token` says whose they are. */
  beginShadow(projections: readonly Projection[], token: string): void {
    this.transaction(() => {
      for (const projection of projections) {
        for (const table of projection.tables) {
          this.db.exec(`DROP TABLE IF EXISTS ${shadow(table)}`);
          createTable(this.db, table, shadow, token);
        }
        this.db
          .prepare("INSERT OR REPLACE INTO rebuilds (projection, token) VALUES (?, ?)")
          .run(projection.name, token);
      }
    });
  }

  /** Whether the shadow tables are still the ones that `token` began. */
  ownsShadow(projections: readonly Projection[], token: string): boolean {
    const owner = this.db.prepare<[string], string>("SELECT token FROM rebuilds WHERE projection = ?").pluck();
    return projections.every((projection) => owner.get(projection.name) === token);
  }

  /** Serves the shadow tables from now on. Call it in the transaction that writes their checkpoint. */
  swapShadow(projections: readonly Projection[]): void {
    for (const projection of projections) {
      for (const table of projection.tables) {
        this.db.exec(`DROP TABLE IF EXISTS ${served(table)}; ALTER TABLE ${shadow(table)} RENAME TO ${served(table)}`);
      }
      this.db.prepare("DELETE FROM rebuilds WHERE projection = ?").run(projection.name);
    }
  }

  close(): void {
    this.db.close();
  }

  /** For a file that turned out to be damaged: the next start makes a new one. */
  closeAndDiscard(): void {
    this.close();
    discard(this.file);
  }
}

export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT");
}

function openDatabase(file: string): Database.Database {
  return withPrivateUmask(() => {
    const db = new Database(file, { timeout: lockWaitMillis });
    try {
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = OFF");
      db.exec(`
        CREATE TABLE IF NOT EXISTS checkpoints (
          projection TEXT PRIMARY KEY, version INTEGER NOT NULL, position INTEGER NOT NULL, hash TEXT NOT NULL
        ) STRICT;
        CREATE TABLE IF NOT EXISTS rebuilds (projection TEXT PRIMARY KEY, token TEXT NOT NULL) STRICT;
      `);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** Index names are the database's, not the table's, and outlive a rename: the token keeps old and new apart. */
function createTable(db: Database.Database, table: Table, naming: Naming, token: string): void {
  const columns = Object.entries(table.columns).map(([name, kind]) => {
    const isNullable = kind.endsWith("?");
    return `${name} ${kind.replace("?", "").toUpperCase()}${isNullable ? "" : " NOT NULL"}`;
  });
  const keys = [
    `PRIMARY KEY (${table.primaryKey.join(", ")})`,
    ...table.unique.map((key) => `UNIQUE (${key.join(", ")})`),
  ];
  db.exec(`CREATE TABLE ${naming(table)} (${[...columns, ...keys].join(", ")}) STRICT`);
  for (const index of table.indexes) {
    db.exec(`CREATE INDEX "${table.name}_by_${index.join("_")}_${token}" ON ${naming(table)} (${index.join(", ")})`);
  }
}

function discard(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
}
