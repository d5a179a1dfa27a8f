import { table, type Row } from "../shared/table.js";

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
