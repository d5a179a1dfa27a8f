import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

/** The hash of a code is a secret, and not here. */
export const pairingCodes = table(
  "pairing_codes",
  {
    pairing_id: "text",
    created_by: "text?",
    expires_at: "text",
    used_at: "text?",
    created_at: "text",
    position: "integer",
  },
  { primaryKey: ["pairing_id"], indexes: [["position"]] },
);

export type PairingCodeRow = Row<typeof pairingCodes>;

/** Those that nobody has used yet, and that were good after `instant`; the newest first. */
export function listOpenPairingCodes(
  db: Kysely<ReadModelTables>,
  page: { readonly expiringAfter: string; readonly limit: number },
): Promise<PairingCodeRow[]> {
  return db
    .selectFrom("pairing_codes")
    .selectAll()
    .where("used_at", "is", null)
    .where("expires_at", ">", page.expiringAfter)
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
}
