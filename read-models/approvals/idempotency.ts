import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

/**
 * Which action has used an idempotency key, once it has begun. The first one counts: were another recorded with the same
 * key, it must not take its place, so the position is part of the row's own key.
 */
export const idempotency = table(
  "idempotency",
  {
    owner_id: "text",
    tool_name: "text",
    key: "text",
    args_hash: "blob",
    /** null until it is done. */
    result_hash: "blob?",
    action_id: "text",
    created_at: "text",
    position: "integer",
    result_position: "integer?",
  },
  {
    primaryKey: ["owner_id", "tool_name", "key", "position"],
    indexes: [["action_id"], ["position"], ["result_position"]],
  },
);

export type IdempotencyRow = Row<typeof idempotency>;

/** The first use of a key. */
export function findIdempotency(
  db: Kysely<ReadModelTables>,
  use: { readonly tool: string; readonly key: string },
): Promise<IdempotencyRow | undefined> {
  return db
    .selectFrom("idempotency")
    .selectAll()
    .where("owner_id", "=", "owner")
    .where("tool_name", "=", use.tool)
    .where("key", "=", use.key)
    .orderBy("position")
    .limit(1)
    .executeTakeFirst();
}
