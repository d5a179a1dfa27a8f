import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const threads = table(
  "threads",
  {
    thread_id: "text",
    user_id: "text",
    channel: "text",
    title: "text?",
    title_position: "integer?",
    message_count: "integer",
    created_at: "text",
    updated_at: "text",
    position: "integer",
  },
  { primaryKey: ["thread_id"], indexes: [["position"]] },
);

export type ThreadRow = Row<typeof threads>;

/** Threads, the one with the latest news first; `beforePosition` is the last one's of the page before. */
export function listThreads(
  db: Kysely<ReadModelTables>,
  page: { readonly beforePosition: number; readonly limit: number },
): Promise<ThreadRow[]> {
  return db
    .selectFrom("threads")
    .selectAll()
    .where("position", "<", page.beforePosition)
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
}

export async function hasThread(db: Kysely<ReadModelTables>, threadId: string): Promise<boolean> {
  const row = await db.selectFrom("threads").select("thread_id").where("thread_id", "=", threadId).executeTakeFirst();
  return row !== undefined;
}
