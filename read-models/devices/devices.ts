import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const devices = table(
  "devices",
  {
    device_id: "text",
    user_id: "text",
    name: "text",
    public_key: "text",
    revoked_at: "text?",
    revoked_reason: "text?",
    last_used_at: "text?",
    created_at: "text",
    position: "integer",
  },
  { primaryKey: ["device_id"], indexes: [["position"]] },
);

export type DeviceRow = Row<typeof devices>;

/** Devices, the newest first; `beforePosition` is the last one's of the page before. */
export function listDevices(
  db: Kysely<ReadModelTables>,
  page: { readonly beforePosition: number; readonly limit: number },
): Promise<DeviceRow[]> {
  return db
    .selectFrom("devices")
    .selectAll()
    .where("position", "<", page.beforePosition)
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
}

/** Whether the device was paired and not revoked since. */
export async function isActiveDevice(db: Kysely<ReadModelTables>, deviceId: string): Promise<boolean> {
  const row = await db.selectFrom("devices").select("revoked_at").where("device_id", "=", deviceId).executeTakeFirst();
  return row?.revoked_at === null;
}

export async function hasActiveDevices(db: Kysely<ReadModelTables>): Promise<boolean> {
  const row = await db.selectFrom("devices").select("device_id").where("revoked_at", "is", null).executeTakeFirst();
  return row !== undefined;
}
