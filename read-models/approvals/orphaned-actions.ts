import type { Kysely } from "kysely";
import type { ReadModelTables } from "../tables.js";
import type { ProposedActionRow } from "./proposed-actions.js";

/** Actions that wait for a decision in a thread that is not there any more. */
export function listOrphanedActions(db: Kysely<ReadModelTables>, limit: number): Promise<ProposedActionRow[]> {
  return db
    .selectFrom("proposed_actions")
    .leftJoin("threads", "threads.thread_id", "proposed_actions.thread_id")
    .selectAll("proposed_actions")
    .where("proposed_actions.status", "=", "PENDING")
    .where("threads.thread_id", "is", null)
    .limit(limit)
    .execute();
}
