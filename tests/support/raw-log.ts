import Database from "better-sqlite3";
import { logFile, type StoredEvent } from "../../infra/event-log/index.js";

/** The log's file behind the log's back. */
export function withRawLog<T>(directory: string, work: (db: Database.Database) => T): T {
  const db = new Database(logFile(directory));
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Somebody who owns the file can also drop what guards it. */
export function tamper<T>(directory: string, work: (db: Database.Database) => T): T {
  return withRawLog(directory, (db) => {
    dropTriggers(db);
    return work(db);
  });
}

export function dropTriggers(db: Database.Database): void {
  for (const name of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all() as string[]) {
    db.exec(`DROP TRIGGER ${name}`);
  }
}

export function allRows(db: Database.Database): StoredEvent[] {
  return db.prepare("SELECT * FROM events ORDER BY position").all() as StoredEvent[];
}

/** Writes a row as it is, whatever stands in its place. */
export function insertRow(db: Database.Database, row: StoredEvent): void {
  const columns = Object.keys(row);
  db.prepare(`INSERT INTO events (${columns.join(", ")}) VALUES (${columns.map((name) => `@${name}`).join(", ")})`).run(
    row,
  );
}
