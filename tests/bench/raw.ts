import { randomBytes } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import { v7 } from "uuid";
import type { StoredEvent } from "../../infra/event-log/index.js";
import { migrations } from "../../infra/event-log/schema.js";
import { dropTriggers } from "../support/raw-log.js";

/** SQLite with nothing around it: the same table and indexes, the same durability, and no triggers. */
export function openRawLog(directory: string): Database.Database {
  const db = new Database(join(directory, "raw.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  for (const migrate of migrations) migrate(db);
  dropTriggers(db);
  return db;
}

/** A statement of its own transaction. */
export function prepareInsert(db: Database.Database): Database.Statement {
  return db.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
}

/** The values of rows like the one given, in the same stream and thread, to be inserted after `position`. */
export function rowsLike(row: StoredEvent, position: number, count: number): unknown[][] {
  return Array.from({ length: count }, (_, index) => [
    position + index + 1,
    v7(),
    row.stream,
    position + index + 1,
    row.thread_id,
    position + index + 1,
    row.type,
    row.command_id,
    row.command_digest,
    row.command_events,
    row.occurred_at,
    row.event,
    randomBytes(16),
    randomBytes(32),
    randomBytes(32),
  ]);
}
