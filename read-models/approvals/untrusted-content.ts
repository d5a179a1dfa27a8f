import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

/** What a thread has read that others wrote. */
export const untrustedContent = table(
  "untrusted_content",
  {
    position: "integer",
    thread_id: "text",
    tool: "text",
    origin: "text",
    created_at: "text",
    /** The last column, so that the others are read without going through it. */
    text: "text",
  },
  { primaryKey: ["position"], indexes: [["thread_id", "position"]] },
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
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
}
