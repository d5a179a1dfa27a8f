import type { ExpressionBuilder, Kysely } from "kysely";
import type { ReadModelTables } from "../tables.js";
import type { ActionStatusText, ProposedActionRow } from "./proposed-actions.js";

/** Where a page ends: what its last action says of itself. */
interface PlaceInList {
  readonly riskClass: number;
  readonly expiresAt: string;
  readonly position: number;
}

/** Actions with a status: the riskiest first, of those the one that expires first, of those the oldest. */
export function listActions(
  db: Kysely<ReadModelTables>,
  page: { readonly status: ActionStatusText; readonly after: PlaceInList | null; readonly limit: number },
): Promise<ProposedActionRow[]> {
  const { status, after, limit } = page;
  const all = db.selectFrom("proposed_actions").selectAll().where("status", "=", status);
  return (after === null ? all : all.where("risk_class", "<=", after.riskClass).where(isAfter(after)))
    .orderBy("risk_class", "desc")
    .orderBy("expires_at")
    .orderBy("position")
    .limit(limit)
    .execute();
}

/** Actions with a status, the newest first; `beforePosition` is the last one's of the page before. */
export function listPastActions(
  db: Kysely<ReadModelTables>,
  page: { readonly status: ActionStatusText; readonly beforePosition: number; readonly limit: number },
): Promise<ProposedActionRow[]> {
  return db
    .selectFrom("proposed_actions")
    .selectAll()
    .where("status", "=", page.status)
    .where("position", "<", page.beforePosition)
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
}

/** How an action stands, without all that it says. */
export async function findActionStatus(db: Kysely<ReadModelTables>, actionId: string): Promise<string | null> {
  const found = await db
    .selectFrom("proposed_actions")
    .select("status")
    .where("action_id", "=", actionId)
    .executeTakeFirst();
  return found?.status ?? null;
}

/** Where an action belongs, without all that it says, and which one has used its idempotency key first. */
export type ActionPlaceRow = Pick<ProposedActionRow, "thread_id" | "turn_id" | "tool" | "idempotency_key"> & {
  readonly key_used_by: string | null;
};

export function findActionPlace(db: Kysely<ReadModelTables>, actionId: string): Promise<ActionPlaceRow | undefined> {
  return db
    .selectFrom("proposed_actions")
    .select(["thread_id", "turn_id", "tool", "idempotency_key"])
    .select((query) =>
      query
        .selectFrom("idempotency")
        .select("idempotency.action_id")
        .whereRef("owner_id", "=", "proposed_actions.user_id")
        .whereRef("tool_name", "=", "proposed_actions.tool")
        .whereRef("key", "=", "proposed_actions.idempotency_key")
        .orderBy("idempotency.position")
        .limit(1)
        .as("key_used_by"),
    )
    .where("proposed_actions.action_id", "=", actionId)
    .executeTakeFirst();
}

export function findAction(db: Kysely<ReadModelTables>, actionId: string): Promise<ProposedActionRow | undefined> {
  return db.selectFrom("proposed_actions").selectAll().where("action_id", "=", actionId).executeTakeFirst();
}

/** Of those that are at most as risky. */
function isAfter({ riskClass, expiresAt, position }: PlaceInList) {
  return (where: ExpressionBuilder<ReadModelTables, "proposed_actions">) =>
    where.or([
      where("risk_class", "<", riskClass),
      where("expires_at", ">", expiresAt),
      where.and([where("expires_at", "=", expiresAt), where("position", ">", position)]),
    ]);
}

/** The first action of a turn that waits for a decision. */
export function findPendingOfTurn(db: Kysely<ReadModelTables>, turnId: string): Promise<ProposedActionRow | undefined> {
  return db
    .selectFrom("proposed_actions")
    .selectAll()
    .where("turn_id", "=", turnId)
    .where("status", "=", "PENDING")
    .orderBy("position")
    .executeTakeFirst();
}
