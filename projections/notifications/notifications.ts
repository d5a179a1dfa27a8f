import type { LoggedEvent } from "../../domain/shared/index.js";
import { notifications } from "../../read-models/notifications/index.js";
import { erasedRanges } from "../shared/erased-ranges.js";
import { owner } from "../shared/owner.js";
import type { Projection, Write } from "../shared/projection.js";
import { idIn } from "../shared/stream.js";

/** The same news may be queued again, after a restart for example. Only the first of a stream is told. */
export const notificationsProjection: Projection = {
  name: "notifications",
  version: 2,
  tables: [notifications],
  on: {
    notificationQueued({ stream, version, payload, occurredAt, position }, write) {
      const notificationId = idIn(stream, "notification");
      if (notificationId === null || version > 1 || payload === null) return;
      write.insert(notifications, {
        notification_id: notificationId,
        user_id: owner,
        type: payload.type,
        reason: payload.reason,
        resource_kind: payload.resourceKind,
        resource_id: payload.resourceId,
        created_at: occurredAt,
        read_at: null,
        position,
      });
    },
    notificationRead({ stream, occurredAt }, write) {
      const notificationId = idIn(stream, "notification");
      if (notificationId === null) return;
      write.update(notifications, { notification_id: notificationId, read_at: null }, { read_at: occurredAt });
    },
    proposedActionStatusChanged: outdated,
    actionExecutionFinished: outdated,
    eventsErased({ payload }, write) {
      for (const range of erasedRanges(payload, "notificationQueued")) {
        write.delete(notifications, {}, { column: "position", ...range });
      }
    },
  },
};

/** What the owner was told of an action is no news any more once it has come further. */
function outdated({ stream, occurredAt }: LoggedEvent, write: Write): void {
  const actionId = idIn(stream, "action");
  if (actionId === null) return;
  const unread = { resource_kind: "action", resource_id: actionId, read_at: null };
  write.update(notifications, unread, { read_at: occurredAt });
}
