import { notifications } from "../../read-models/notifications/index.js";
import { erasedRanges } from "../shared/erased-ranges.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";
import { idIn } from "../shared/stream.js";

/** The same news may be queued again, after a restart for example. Only the first of a stream is told. */
export const notificationsProjection: Projection = {
  name: "notifications",
  version: 1,
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
    eventsErased({ payload }, write) {
      for (const range of erasedRanges(payload, "notificationQueued")) {
        write.delete(notifications, {}, { column: "position", ...range });
      }
    },
  },
};
