import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const pairingAttempts = table(
  "pairing_attempts",
  { position: "integer", address: "text", reason: "text", occurred_at: "text" },
  { primaryKey: ["position"] },
);

export type PairingAttemptRow = Row<typeof pairingAttempts>;

/** The last failed attempts after `instant`, oldest first. */
export async function listFailedAttempts(
  db: Kysely<ReadModelTables>,
  page: { readonly after: string; readonly limit: number },
): Promise<PairingAttemptRow[]> {
  const latestFirst = await db
    .selectFrom("pairing_attempts")
    .selectAll()
    .where("occurred_at", ">", page.after)
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
  return latestFirst.reverse();
}
