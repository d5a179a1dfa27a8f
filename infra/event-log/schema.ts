import type { Database } from "better-sqlite3";
import { LogError } from "./errors.js";

/** "PNCR": tells a Pincer log from any other SQLite file. */
const applicationId = 0x504e4352;

/** What `user_version` n-1 becomes n by. Only ever added to. */
export type Migration = (db: Database) => void;

export const migrations: readonly Migration[] = [
  (db) =>
    db.exec(`
      CREATE TABLE events (
        position INTEGER PRIMARY KEY,
        event_id TEXT NOT NULL,
        stream TEXT NOT NULL,
        version INTEGER NOT NULL,
        thread_id TEXT,
        sequence INTEGER,
        type TEXT NOT NULL,
        command_id TEXT,
        command_digest BLOB,
        command_events INTEGER,
        occurred_at TEXT NOT NULL,
        event BLOB,
        salt BLOB,
        digest BLOB NOT NULL,
        hash BLOB NOT NULL,
        UNIQUE (stream, version),
        CHECK ((thread_id IS NULL) = (sequence IS NULL)),
        CHECK ((event IS NULL) = (salt IS NULL)),
        CHECK ((command_id IS NULL) = (command_digest IS NULL) AND (command_id IS NULL) = (command_events IS NULL))
      ) STRICT;

      CREATE UNIQUE INDEX events_by_thread ON events (thread_id, sequence) WHERE thread_id IS NOT NULL;
      CREATE UNIQUE INDEX events_by_command ON events (command_id) WHERE command_id IS NOT NULL;

      CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
      BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;

      -- INSERT OR REPLACE would delete what stands in its way without firing the trigger above.
      CREATE TRIGGER events_are_never_replaced BEFORE INSERT ON events
      WHEN NEW.position <> (SELECT ifnull(max(position), 0) + 1 FROM events)
        OR EXISTS (SELECT 1 FROM events WHERE stream = NEW.stream AND version = NEW.version)
        OR EXISTS (SELECT 1 FROM events WHERE thread_id = NEW.thread_id AND sequence = NEW.sequence)
        OR EXISTS (SELECT 1 FROM events WHERE command_id = NEW.command_id)
      BEGIN SELECT RAISE(ABORT, 'events are only added at the end'); END;

      CREATE TRIGGER events_are_only_erased BEFORE UPDATE ON events
      WHEN NEW.event IS NOT NULL OR NEW.salt IS NOT NULL OR OLD.type = 'eventsErased'
        OR (NEW.position, NEW.event_id, NEW.stream, NEW.version, NEW.thread_id, NEW.sequence, NEW.type, NEW.command_id,
            NEW.command_digest, NEW.command_events, NEW.occurred_at, NEW.digest, NEW.hash)
           IS NOT
           (OLD.position, OLD.event_id, OLD.stream, OLD.version, OLD.thread_id, OLD.sequence, OLD.type, OLD.command_id,
            OLD.command_digest, OLD.command_events, OLD.occurred_at, OLD.digest, OLD.hash)
      BEGIN SELECT RAISE(ABORT, 'events are immutable; they can only be erased'); END;
    `),
  (db) => db.exec("CREATE TABLE secrets (id TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID"),
];

/** Refuses a file that is not ours or newer than this code. Writes nothing. */
export function checkSchema(db: Database, known: readonly Migration[] = migrations): void {
  const version = schemaVersion(db);
  if (version > known.length) {
    throw new LogError(
      "foreign",
      db.name,
      null,
      `schema version ${version} is newer than ${known.length}, the newest known here`,
    );
  }
  const tables = db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get() as number;
  const ours = db.pragma("application_id", { simple: true }) === applicationId;
  if (tables > 0 && !ours) throw new LogError("foreign", db.name, null, "this database is not a Pincer log");
  if (version > 0 && known === migrations && !hasEvents(db)) {
    throw new LogError("broken", db.name, null, "it says that it is a log, and has no table of events");
  }
}

/** Brings the schema up to date; each step and its version number are one transaction. */
export function migrate(db: Database, known: readonly Migration[] = migrations): void {
  checkSchema(db, known);
  for (const [index, up] of known.entries()) {
    if (schemaVersion(db) > index) continue;
    db.transaction(() => {
      if (schemaVersion(db) > index) return; // Another process was faster.
      up(db);
      db.pragma(`application_id = ${applicationId}`);
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
}

function hasEvents(db: Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'events'").get() !== undefined;
}

function schemaVersion(db: Database): number {
  return db.pragma("user_version", { simple: true }) as number;
}
