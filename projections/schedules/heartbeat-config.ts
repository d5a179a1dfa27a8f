import { heartbeatConfig } from "../../read-models/schedules/index.js";
import { deleteErased } from "../shared/erased.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";

export const heartbeatConfigProjection: Projection = {
  name: "heartbeat_config",
  version: 1,
  tables: [heartbeatConfig],
  on: {
    heartbeatConfigured({ payload, occurredAt, position }, write) {
      write.delete(heartbeatConfig, { user_id: owner });
      if (payload === null) return;
      write.insert(heartbeatConfig, {
        user_id: owner,
        enabled: payload.enabled ? 1 : 0,
        interval_minutes: payload.intervalMinutes,
        tasks_markdown: payload.tasksMarkdown,
        updated_at: occurredAt,
        position,
      });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, heartbeatConfig, { user_id: owner }, write);
    },
  },
};
