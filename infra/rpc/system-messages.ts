import type { JsonObject } from "@bufbuild/protobuf";
import type { ExplainedStep } from "../../domain/audit/index.js";
import { NotificationType } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import type { AuditRow } from "../../read-models/audit/index.js";
import type { NotificationRow } from "../../read-models/notifications/index.js";
import { timestampIfAny, timestampOf } from "./times.js";

const notificationTypes: Readonly<Record<string, NotificationType>> = {
  approval_needed: NotificationType.NOTIFICATION_PENDING_APPROVAL_CREATED,
  approval_expiring: NotificationType.NOTIFICATION_APPROVAL_EXPIRING_SOON,
  job_completed: NotificationType.NOTIFICATION_JOB_COMPLETED,
  job_failed: NotificationType.NOTIFICATION_JOB_FAILED,
  proactive_reach_out: NotificationType.NOTIFICATION_PROACTIVE_REACH_OUT,
};

export function toAuditEntry(row: AuditRow) {
  return {
    entryId: row.entry_id,
    eventType: row.event_type,
    threadId: row.thread_id ?? "",
    jobId: row.job_id ?? "",
    actionId: row.action_id ?? "",
    payload: JSON.parse(row.payload_json) as JsonObject,
    occurredAt: timestampOf(row.created_at),
    actor: row.actor,
    entityId: row.entity_id,
  };
}

export function toNotification(row: NotificationRow) {
  return {
    notificationId: row.notification_id,
    type: notificationTypes[row.type] ?? NotificationType.NOTIFICATION_TYPE_UNSPECIFIED,
    resourceKind: row.resource_kind,
    resourceId: row.resource_id,
    createdAt: timestampOf(row.created_at),
    readAt: timestampIfAny(row.read_at),
    reason: row.reason,
  };
}

export function toExplainStep({ event, text }: ExplainedStep) {
  return {
    eventId: event.eventId,
    position: BigInt(event.position),
    eventType: event.type,
    occurredAt: timestampOf(event.occurredAt),
    actor: event.envelope?.actor?.id ?? "",
    text,
    causationId: event.envelope?.causationId ?? "",
  };
}
