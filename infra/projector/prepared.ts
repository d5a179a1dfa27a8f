import type { Database, Statement } from "better-sqlite3";
import type { SqliteDatabase } from "kysely";

/** More than there are queries; a list of ids is another one for each of its lengths. */
const statementsMax = 500;

/** A database for Kysely that remembers what it has prepared: that takes longer than a small query itself. */
export function withPrepared(db: Database): SqliteDatabase {
  const statements = new Map<string, Statement>();
  return {
    prepare: (sql) => {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      if (statements.size >= statementsMax) statements.clear();
      const prepared = db.prepare(sql);
      statements.set(sql, prepared);
      return prepared;
    },
    close: () => {
      db.close();
    },
  };
}
