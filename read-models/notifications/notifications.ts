import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const notifications = table(
  "notifications",
  {
    notification_id: "text",
    user_id: "text",
    type: "text",
    reason: "text",
    resource_kind: "text",
    resource_id: "text",
    created_at: "text",
    read_at: "text?",
    position: "integer",
  },
  { primaryKey: ["notification_id"], indexes: [["position"], ["read_at", "position"], ["resource_id", "read_at"]] },
);

export type NotificationRow = Row<typeof notifications>;

/** Notifications, the newest first; `beforePosition` is the last one's of the page before. */
export function listNotifications(
  db: Kysely<ReadModelTables>,
  page: { readonly unreadOnly: boolean; readonly beforePosition: number; readonly limit: number },
): Promise<NotificationRow[]> {
  const all = db.selectFrom("notifications").selectAll().where("position", "<", page.beforePosition);
  const found = page.unreadOnly ? all.where("read_at", "is", null) : all;
  return found.orderBy("position", "desc").limit(page.limit).execute();
}

export function findNotification(
  db: Kysely<ReadModelTables>,
  notificationId: string,
): Promise<NotificationRow | undefined> {
  return db.selectFrom("notifications").selectAll().where("notification_id", "=", notificationId).executeTakeFirst();
}
