import { Kysely, SqliteDialect, type CompiledQuery, type LogEvent } from "kysely";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { Backend } from "./backend.js";

/** How SQLite answers what is asked, step by step, with the names of indexes as they are in their definition. */
export async function planOf(
  { store }: Pick<Backend, "store">,
  ask: (db: Kysely<ReadModelTables>) => Promise<unknown>,
): Promise<string[]> {
  const asked: CompiledQuery[] = [];
  const dialect = new SqliteDialect({ database: store.db });
  const log = ({ query }: LogEvent) => {
    asked.push(query);
  };
  await ask(new Kysely<ReadModelTables>({ dialect, log }));
  return asked.flatMap(({ sql, parameters }) => {
    const steps = store.db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
    return steps.map(({ detail }) => detail.replace(/_[0-9a-f-]{36}/, ""));
  });
}
