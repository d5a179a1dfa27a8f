import type { Database } from "better-sqlite3";

/** Copies the WAL into the database and empties it; answers whether that was possible, or somebody still reads from it. */
export function truncateWal(db: Database): boolean {
  return db.pragma("wal_checkpoint(TRUNCATE)", { simple: true }) === 0;
}
