import type { Kysely } from "kysely";
import type { ReadModelTables } from "../tables.js";
import type { ProposedActionRow } from "./proposed-actions.js";

/** Approved actions that are to be carried out by now, the one that has waited longest first. */
export function listDueActions(
  db: Kysely<ReadModelTables>,
  page: { readonly at: string; readonly limit: number },
): Promise<ProposedActionRow[]> {
  return db
    .selectFrom("proposed_actions")
    .selectAll()
    .where("status", "=", "APPROVED")
    .where("due_at", "<=", page.at)
    .orderBy("due_at")
    .orderBy("position")
    .limit(page.limit)
    .execute();
}

/** When the next approved action is to be carried out; null if none is. */
export async function nextDueAt(db: Kysely<ReadModelTables>): Promise<string | null> {
  const next = await db
    .selectFrom("proposed_actions")
    .select("due_at")
    .where("status", "=", "APPROVED")
    .where("due_at", "is not", null)
    .orderBy("due_at")
    .limit(1)
    .executeTakeFirst();
  return next?.due_at ?? null;
}

/** Approved actions whose intent has no outcome yet, in the order of the log. */
export function listInFlightActions(db: Kysely<ReadModelTables>): Promise<ProposedActionRow[]> {
  return db
    .selectFrom("proposed_actions")
    .selectAll()
    .where("status", "=", "APPROVED")
    .where("in_flight", "=", 1)
    .orderBy("position")
    .execute();
}
