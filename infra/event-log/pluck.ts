import type { Database, Statement } from "better-sqlite3";

/** A statement that answers with the first column alone. */
export function pluck<Parameters extends unknown[], Value>(db: Database, sql: string): Statement<Parameters, Value> {
  return db.prepare(sql).pluck() as Statement<Parameters, Value>;
}
