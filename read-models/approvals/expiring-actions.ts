import { sql, type Kysely } from "kysely";
import type { ReadModelTables } from "../tables.js";

/** Pending actions that nobody has decided in time, the one that expired first at the front. */
export function listExpiredActions(
  db: Kysely<ReadModelTables>,
  page: { readonly at: string; readonly limit: number },
): Promise<{ readonly action_id: string }[]> {
  return db
    .selectFrom("proposed_actions")
    .select("action_id")
    .where("status", "=", "PENDING")
    .where("expires_at", "<=", page.at)
    .orderBy("expires_at")
    .orderBy("position")
    .limit(page.limit)
    .execute();
}

/**
 * Pending actions that expire until `before`, have no more than the last quarter of their time left, and whose owner was not
 * told so yet; the one that expires first at the front.
 */
export function listExpiringActions(
  db: Kysely<ReadModelTables>,
  page: { readonly at: string; readonly before: string; readonly limit: number },
): Promise<{ readonly action_id: string }[]> {
  const left = sql<number>`unixepoch(expires_at, 'subsec') - unixepoch(${page.at}, 'subsec')`;
  const whole = sql<number>`unixepoch(expires_at, 'subsec') - unixepoch(proposed_actions.created_at, 'subsec')`;
  return db
    .selectFrom("proposed_actions")
    .select("action_id")
    .where("status", "=", "PENDING")
    .where("expires_at", ">", page.at)
    .where("expires_at", "<=", page.before)
    .where(sql<boolean>`(${left}) * 4 <= ${whole}`)
    .where((query) => {
      const told = query
        .selectFrom("notifications")
        .select("notification_id")
        .whereRef("resource_id", "=", "proposed_actions.action_id")
        .where("type", "=", "approval_expiring");
      return query.not(query.exists(told));
    })
    .orderBy("expires_at")
    .orderBy("proposed_actions.position")
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
