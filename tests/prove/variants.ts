import Database from "better-sqlite3";
import { logFile, SqliteEventLog, systemEntropy } from "../../infra/event-log/index.js";
import { systemIds } from "../../infra/ports/system-ids.js";
import { openBackend, openBackendOn, openTestLog, type Backend } from "../support/backend.js";

/**
 * The backend as it is, and broken on purpose:
 * - `early`: the child acknowledges first and appends a moment later, as a write-behind cache would.
 * - `stubborn`: the child acknowledges although the append has failed.
 * - `unsynced`: the log does not sync each commit.
 * - `untransacted`: the log writes without a transaction around it.
 */
export type Variant = "sound" | "early" | "stubborn" | "unsynced" | "untransacted";

export function openVariant(directory: string, variant: Variant): Promise<Backend> {
  switch (variant) {
    case "sound":
    case "early":
    case "stubborn":
      return openBackend(directory);
    case "unsynced":
      return openSpoiled(directory, (db) => db.pragma("synchronous = NORMAL"));
    case "untransacted":
      return openSpoiled(directory, withoutTransactions);
  }
}

/** The product's own classes on a connection that is not opened as the product opens it. */
function openSpoiled(directory: string, spoil: (db: Database.Database) => unknown): Promise<Backend> {
  openTestLog(directory).close(); // The schema is as it should be.
  const db = new Database(logFile(directory), { timeout: 1_000 });
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  spoil(db);
  return openBackendOn(new SqliteEventLog(db, systemEntropy(systemIds)), directory);
}

/** Without a transaction, whatever another process writes between our look-up and our insert goes unseen. */
function withoutTransactions(db: Database.Database): void {
  const prepare = db.prepare.bind(db);
  const nothing = { run: () => undefined };
  const spoiled = (sql: string) => {
    if (sql === "BEGIN IMMEDIATE" || sql === "COMMIT") return nothing;
    const statement = prepare(sql);
    return sql.startsWith("INSERT INTO events") ? hesitating(statement) : statement;
  };
  Object.assign(db, { prepare: spoiled });
}

/** Makes the moment long enough to be met: otherwise a quiet machine may show no harm at all. */
function hesitating(statement: Database.Statement): Pick<Database.Statement, "run"> {
  const hesitationMillis = 1;
  const never = new Int32Array(new SharedArrayBuffer(4));
  return {
    run: (...values: unknown[]) => {
      Atomics.wait(never, 0, 0, hesitationMillis);
      return statement.run(...values);
    },
  };
}
