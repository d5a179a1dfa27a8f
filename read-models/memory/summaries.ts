import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const conversationSummaries = table(
  "conversation_summaries",
  {
    summary_id: "text",
    user_id: "text",
    thread_id: "text",
    summary_text: "text",
    turn_count: "integer",
    token_estimate: "integer",
    /** Turns that ended later are not in it. */
    through_position: "integer",
    created_at: "text",
    position: "integer",
  },
  { primaryKey: ["summary_id"], indexes: [["thread_id", "position"], ["position"]] },
);

export type ConversationSummaryRow = Row<typeof conversationSummaries>;

export function findLatestSummary(
  db: Kysely<ReadModelTables>,
  threadId: string,
): Promise<ConversationSummaryRow | undefined> {
  return db
    .selectFrom("conversation_summaries")
    .selectAll()
    .where("thread_id", "=", threadId)
    .orderBy("position", "desc")
    .limit(1)
    .executeTakeFirst();
}
