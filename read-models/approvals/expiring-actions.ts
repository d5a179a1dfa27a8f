import type { Kysely } from "kysely";
import type { ReadModelTables } from "../tables.js";
import type { ProposedActionRow } from "./proposed-actions.js";

/** Pending actions that nobody has decided in time, the one that expired first at the front. */
export function listExpiredActions(
  db: Kysely<ReadModelTables>,
  page: { readonly at: string; readonly limit: number },
): Promise<ProposedActionRow[]> {
  return listExpiringActions(db, { before: page.at, limit: page.limit });
}

/** Pending actions that expire until then, or have expired, the one that does first at the front. */
export function listExpiringActions(
  db: Kysely<ReadModelTables>,
  page: { readonly before: string; readonly limit: number },
): Promise<ProposedActionRow[]> {
  return db
    .selectFrom("proposed_actions")
    .selectAll()
    .where("status", "=", "PENDING")
    .where("expires_at", "<=", page.before)
    .orderBy("expires_at")
    .orderBy("position")
    .limit(page.limit)
    .execute();
}

/** When the next pending action expires; null if none is pending. */
export async function nextExpiryAt(db: Kysely<ReadModelTables>): Promise<string | null> {
  const next = await db
    .selectFrom("proposed_actions")
    .select("expires_at")
    .where("status", "=", "PENDING")
    .orderBy("expires_at")
    .limit(1)
    .executeTakeFirst();
  return next?.expires_at ?? null;
}
