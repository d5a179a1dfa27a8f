import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { makePrivate, makePrivateDirectory, withPrivateUmask } from "../files/private.js";
import type { Entropy } from "./entropy.js";
import { LogError, toLogError } from "./errors.js";
import { SqliteEventLog } from "./event-log.js";
import { LogReader } from "./log-reader.js";
import { checkSchema, migrate } from "./schema.js";
import { verifyTail } from "./verify.js";

/** How long SQLite itself waits for another writer. Short, because the event loop waits with it. */
const lockWaitMillis = 20;
const walBytesKept = 64 * 1024 * 1024;

/** The files of an SQLite database in WAL mode. */
export const databaseSuffixes = ["", "-wal", "-shm"];

export function logFile(dataDirectory: string): string {
  return join(dataDirectory, "log.db");
}

/** Opens the log for reading and writing; makes directory and file, private to this user, if there are none. */
export function openLog(dataDirectory: string, entropy: Entropy): SqliteEventLog {
  const file = logFile(dataDirectory);
  return naming(file, () => {
    makePrivateDirectory(dataDirectory);
    for (const suffix of databaseSuffixes) makePrivate(file + suffix);
    const db = withPrivateUmask(() => closingOnError(new Database(file, { timeout: lockWaitMillis }), prepare));
    const log = closingOnError(db, () => new SqliteEventLog(db, entropy));
    try {
      verifyTail(log);
      return log;
    } catch (error) {
      log.close();
      throw error;
    }
  });
}

/** Opens an existing log for reading only. */
export function openLogReader(dataDirectory: string): LogReader {
  const file = logFile(dataDirectory);
  if (!existsSync(file)) throw new LogError("unavailable", file, null, "there is no log here");
  return naming(file, () => {
    const db = new Database(file, { readonly: true, timeout: lockWaitMillis });
    return closingOnError(db, () => {
      checkSchema(db);
      return new LogReader(db);
    });
  });
}

function prepare(db: Database.Database): Database.Database {
  checkSchema(db); // Before anything is written: a file that is not ours stays as it is.
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("wal_autocheckpoint = 0"); // Ours reports its failures; see the writer.
  db.pragma(`journal_size_limit = ${walBytesKept}`);
  // From the beginning: what is moved from page to page before it is erased must not leave copies behind.
  db.pragma("secure_delete = ON");
  if (db.pragma("synchronous", { simple: true }) !== 2) {
    throw new LogError("unavailable", db.name, null, "SQLite does not sync every commit");
  }
  migrate(db);
  // After a failed fsync, pages may be in memory and not on the disk, and look fine. Copying them into the database
  // file and syncing that makes them durable, whatever the last process saw.
  db.pragma("wal_checkpoint(TRUNCATE)");
  return db;
}

function closingOnError<T>(db: Database.Database, work: (db: Database.Database) => T): T {
  try {
    return work(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function naming<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw toLogError(error, file);
  }
}
