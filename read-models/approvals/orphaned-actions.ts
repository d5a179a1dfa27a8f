import type { Kysely } from "kysely";
import type { ReadModelTables } from "../tables.js";

/** Actions that wait for a decision in a thread that is not there any more. */
export function listOrphanedActions(
  db: Kysely<ReadModelTables>,
  limit: number,
): Promise<{ readonly action_id: string }[]> {
  return db
    .selectFrom("proposed_actions")
    .leftJoin("threads", "threads.thread_id", "proposed_actions.thread_id")
    .select("proposed_actions.action_id")
    .where("proposed_actions.status", "=", "PENDING")
    .where("threads.thread_id", "is", null)
    .limit(limit)
    .execute();
}
