import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const messages = table(
  "messages",
  {
    message_id: "text",
    thread_id: "text",
    turn_id: "text?",
    role: "text",
    content: "text",
    content_trust: "integer",
    metadata_json: "text?",
    created_at: "text",
    position: "integer",
  },
  { primaryKey: ["message_id"], indexes: [["thread_id", "position"]] },
);

export type MessageRow = Row<typeof messages>;

/** The messages of a thread, oldest first; `afterPosition` is the last one's of the page before. */
export function listMessages(
  db: Kysely<ReadModelTables>,
  page: { readonly threadId: string; readonly afterPosition: number; readonly limit: number },
): Promise<MessageRow[]> {
  return db
    .selectFrom("messages")
    .selectAll()
    .where("thread_id", "=", page.threadId)
    .where("position", ">", page.afterPosition)
    .orderBy("position")
    .limit(page.limit)
    .execute();
}

/** The last messages of a thread, oldest first. */
export async function listLatestMessages(
  db: Kysely<ReadModelTables>,
  page: { readonly threadId: string; readonly limit: number },
): Promise<MessageRow[]> {
  const latestFirst = await db
    .selectFrom("messages")
    .selectAll()
    .where("thread_id", "=", page.threadId)
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
  return latestFirst.reverse();
}

export function findMessage(db: Kysely<ReadModelTables>, messageId: string): Promise<MessageRow | undefined> {
  return db.selectFrom("messages").selectAll().where("message_id", "=", messageId).executeTakeFirst();
}

/** What the assistant has said last in a turn. */
export function findLastAnswer(
  db: Kysely<ReadModelTables>,
  of: { readonly threadId: string; readonly turnId: string },
): Promise<MessageRow | undefined> {
  return db
    .selectFrom("messages")
    .selectAll()
    .where("thread_id", "=", of.threadId)
    .where("turn_id", "=", of.turnId)
    .where("role", "=", "assistant")
    .orderBy("position", "desc")
    .limit(1)
    .executeTakeFirst();
}

/** All messages of these turns, in the order of the turns, as far as they are the thread's. */
export async function listMessagesOfTurns(
  db: Kysely<ReadModelTables>,
  of: { readonly threadId: string; readonly turnIds: readonly string[] },
): Promise<MessageRow[]> {
  const rows = await db
    .selectFrom("messages")
    .selectAll()
    .where("thread_id", "=", of.threadId)
    .where("turn_id", "in", of.turnIds)
    .orderBy("position")
    .execute();
  const place = (row: MessageRow) => of.turnIds.indexOf(row.turn_id ?? "");
  return rows.sort((a, b) => place(a) - place(b) || a.position - b.position);
}
