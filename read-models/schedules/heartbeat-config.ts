import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const heartbeatConfig = table(
  "heartbeat_config",
  {
    user_id: "text",
    enabled: "integer",
    interval_minutes: "integer",
    tasks_markdown: "text",
    updated_at: "text",
    position: "integer",
  },
  { primaryKey: ["user_id"] },
);

export type HeartbeatConfigRow = Row<typeof heartbeatConfig>;

export function findHeartbeatConfig(db: Kysely<ReadModelTables>): Promise<HeartbeatConfigRow | undefined> {
  return db.selectFrom("heartbeat_config").selectAll().executeTakeFirst();
}
