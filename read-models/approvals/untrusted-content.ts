import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

/**
 * What a thread has read that others wrote. The place of what an action will bring is taken when it begins: if the thread is
 * deleted meanwhile, there is none any more, and nothing is kept.
 */
export const untrustedContent = table(
  "untrusted_content",
  {
    position: "integer",
    thread_id: "text",
    action_id: "text?",
    /** Where it was read; null as long as nothing is. */
    read_position: "integer?",
    tool: "text",
    origin: "text",
    created_at: "text",
    /** The last column, so that the others are read without going through it. */
    text: "text",
  },
  { primaryKey: ["position"], indexes: [["thread_id", "read_position"], ["action_id"], ["read_position"]] },
);

export type UntrustedContentRow = Row<typeof untrustedContent>;

/** What a thread has read last, the newest first. */
export function listUntrustedContent(
  db: Kysely<ReadModelTables>,
  page: { readonly threadId: string; readonly limit: number },
): Promise<UntrustedContentRow[]> {
  return db
    .selectFrom("untrusted_content")
    .selectAll()
    .where("thread_id", "=", page.threadId)
    .where("read_position", "is not", null)
    .orderBy("read_position", "desc")
    .limit(page.limit)
    .execute();
}
