import type { ServiceImpl } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import type { Handling } from "../../commands/handle.js";
import { markNotificationRead } from "../../commands/notifications/mark-notification-read.js";
import { updateAgentMemory } from "../../commands/memory/update-agent-memory.js";
import type { Clock } from "../../commands/ports/index.js";
import { configureHeartbeat } from "../../commands/schedules/configure-heartbeat.js";
import { refuse } from "../../domain/shared/index.js";
import { initialHeartbeat } from "../../domain/schedules/index.js";
import type { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { findAgentMemory } from "../../read-models/memory/index.js";
import { findHeartbeatConfig } from "../../read-models/schedules/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { findAction } from "../../read-models/approvals/index.js";
import { listAudit } from "../../read-models/audit/index.js";
import { listNotifications } from "../../read-models/notifications/index.js";
import type { LogReader } from "../event-log/index.js";
import { explanationIn } from "../lookups/explanation.js";
import type { Equipment } from "../server/equipment.js";
import { provenanceOf } from "./caller.js";
import { page } from "./paging.js";
import { expectDone, toConnectError } from "./refusal.js";
import { toAuditEntry, toExplainStep, toNotification } from "./system-messages.js";
import { textOf, timestampOf } from "./times.js";

export function systemService(
  handling: Handling,
  { policy, policyVersion }: Equipment,
  log: LogReader,
  query: Kysely<ReadModelTables>,
  clock: Clock,
): ServiceImpl<typeof SystemService> {
  const memory = async () => {
    const row = await findAgentMemory(query);
    return row === undefined ? { content: "" } : { content: row.content, updatedAt: timestampOf(row.updated_at) };
  };
  const heartbeat = async () => {
    const row = await findHeartbeatConfig(query);
    if (row === undefined) return initialHeartbeat;
    return {
      enabled: row.enabled === 1,
      intervalMinutes: row.interval_minutes,
      tasksMarkdown: row.tasks_markdown,
      tasksUpdatedAt: timestampOf(row.updated_at),
    };
  };
  return {
    getPolicySummary: () => ({ summary: policy, policyVersion }),

    async listAudit(request) {
      const filters = {
        ...(request.eventType !== "" && { eventType: request.eventType }),
        ...(request.threadId !== "" && { threadId: request.threadId }),
        ...(request.jobId !== "" && { jobId: request.jobId }),
        ...(request.actionId !== "" && { actionId: request.actionId }),
        ...(request.fromTime && { from: textOf(request.fromTime, "from_time") }),
        ...(request.untilTime && { until: textOf(request.untilTime, "until_time") }),
      };
      const list = `audit/${JSON.stringify(filters)}`;
      const { rows, nextPageToken } = await page(list, request, Number.MAX_SAFE_INTEGER, (beforePosition, limit) =>
        listAudit(query, { ...filters, beforePosition, limit }),
      );
      return { items: rows.map(toAuditEntry), nextPageToken };
    },

    async explain({ actionId }) {
      const row = await findAction(query, actionId);
      if (row === undefined) throw toConnectError(refuse("action_not_found"));
      return { steps: (await explanationIn(log, query, row)).map(toExplainStep) };
    },

    async listNotifications({ unreadOnly, ...request }) {
      const list = unreadOnly ? "notifications/unread" : "notifications";
      const { rows, nextPageToken } = await page(list, request, Number.MAX_SAFE_INTEGER, (beforePosition, limit) =>
        listNotifications(query, { unreadOnly, beforePosition, limit }),
      );
      return { items: rows.map(toNotification), nextPageToken };
    },

    async markNotificationRead({ notificationId }, context) {
      const command = { notificationId, at: clock.now(), provenance: provenanceOf(context) };
      expectDone(await markNotificationRead(handling, command));
      return { notificationId };
    },

    getAgentMemory: memory,

    async updateAgentMemory({ content }, context) {
      expectDone(await updateAgentMemory(handling, { content, at: clock.now(), provenance: provenanceOf(context) }));
      return { ...(await memory()), writtenBytes: BigInt(Buffer.byteLength(content)) };
    },

    getHeartbeatConfig: heartbeat,

    async updateHeartbeatConfig({ enabled, intervalMinutes, tasksMarkdown }, context) {
      const wanted = { enabled, intervalMinutes, tasksMarkdown };
      expectDone(await configureHeartbeat(handling, { wanted, at: clock.now(), provenance: provenanceOf(context) }));
      return heartbeat();
    },
  };
}
