import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

/** The hash of a token is a secret, and not here. */
export const authTokens = table(
  "auth_tokens",
  {
    token_id: "text",
    device_id: "text",
    expires_at: "text",
    /** Earlier than `expires_at` once it is replaced by another. */
    valid_until: "text",
    replaces_token_id: "text?",
    created_at: "text",
  },
  { primaryKey: ["token_id"], indexes: [["device_id"]] },
);

export type AuthTokenRow = Row<typeof authTokens>;

/** A token that may be good: it is not, when `valid_until` is past. Those of revoked devices are gone. */
export function findToken(db: Kysely<ReadModelTables>, tokenId: string): Promise<AuthTokenRow | undefined> {
  return db.selectFrom("auth_tokens").selectAll().where("token_id", "=", tokenId).executeTakeFirst();
}
