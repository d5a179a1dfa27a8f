import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const turns = table(
  "turns",
  {
    turn_id: "text",
    user_id: "text",
    thread_id: "text",
    /** "queued", "running", "paused", "completed" or "failed". */
    status: "text",
    trigger_type: "integer",
    user_message_id: "text",
    assistant_message_id: "text?",
    failure_code: "text?",
    started_at: "text?",
    ended_at: "text?",
    /** Where it was queued, and once it has started, where it started. */
    position: "integer",
    started_position: "integer?",
    /** Where it was paused, while it is. */
    paused_position: "integer?",
    ended_position: "integer?",
  },
  { primaryKey: ["turn_id"], indexes: [["thread_id", "started_position"], ["status"]] },
);

export type TurnRow = Row<typeof turns>;

/** Turns of all threads that are waiting or under way, in the order of the log. */
export function listUnfinishedTurns(db: Kysely<ReadModelTables>): Promise<TurnRow[]> {
  return db
    .selectFrom("turns")
    .selectAll()
    .where("status", "in", ["queued", "running", "paused"])
    .orderBy("position")
    .execute();
}

/**
 * Turns of a thread that are over, in the order they ended; `afterPosition` is where the last known one did. One whose
 * message was erased is left out.
 */
export function listTurnsEndedSince(
  db: Kysely<ReadModelTables>,
  page: { readonly threadId: string; readonly afterPosition: number; readonly limit: number },
): Promise<TurnRow[]> {
  return db
    .selectFrom("turns")
    .innerJoin("messages", "messages.message_id", "turns.user_message_id")
    .selectAll("turns")
    .where("turns.thread_id", "=", page.threadId)
    .where("ended_position", ">", page.afterPosition)
    .orderBy("ended_position")
    .limit(page.limit)
    .execute();
}

export function findTurn(db: Kysely<ReadModelTables>, turnId: string): Promise<TurnRow | undefined> {
  return db.selectFrom("turns").selectAll().where("turn_id", "=", turnId).executeTakeFirst();
}

/** Turns of a thread that wait for the owner, in the order they began. */
export function listPausedTurns(db: Kysely<ReadModelTables>, threadId: string): Promise<TurnRow[]> {
  return db
    .selectFrom("turns")
    .selectAll()
    .where("thread_id", "=", threadId)
    .where("status", "=", "paused")
    .orderBy("started_position")
    .execute();
}
