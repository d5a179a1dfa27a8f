import type { Kysely } from "kysely";
import type { ReadModelTables } from "../tables.js";
import type { ProposedActionRow } from "./proposed-actions.js";

/** Which action is to be carried out, and by whom. What is in it is nobody's business yet. */
export type ActionToCarryOut = Pick<ProposedActionRow, "action_id" | "tool" | "idempotency_key" | "position">;

const columns = ["action_id", "tool", "idempotency_key", "position"] as const;

/** Approved actions that are to be carried out by now, but for those of some tools; what has waited longest first. */
export function listDueActions(
  db: Kysely<ReadModelTables>,
  page: { readonly at: string; readonly exceptTools: readonly string[]; readonly limit: number },
): Promise<ActionToCarryOut[]> {
  return db
    .selectFrom("proposed_actions")
    .select(columns)
    .where("status", "=", "APPROVED")
    .where("due_at", "<=", page.at)
    .where("tool", "not in", page.exceptTools)
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
export function listInFlightActions(
  db: Kysely<ReadModelTables>,
  page: { readonly afterPosition: number; readonly limit: number },
): Promise<ActionToCarryOut[]> {
  return db
    .selectFrom("proposed_actions")
    .select(columns)
    .where("status", "=", "APPROVED")
    .where("in_flight", "=", 1)
    .where("position", ">", page.afterPosition)
    .orderBy("position")
    .limit(page.limit)
    .execute();
}
