import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const auditLog = table(
  "audit_log",
  {
    /** The event's own id. */
    entry_id: "text",
    event_type: "text",
    /** What it is about: an action, a turn, a device; if there is nothing such, the thread or the owner. */
    entity_id: "text",
    thread_id: "text?",
    job_id: "text?",
    action_id: "text?",
    /** Such as "device:4711"; empty if that was erased. */
    actor: "text",
    payload_json: "text",
    created_at: "text",
    position: "integer",
  },
  {
    primaryKey: ["entry_id"],
    indexes: [
      ["position"],
      ["event_type", "position"],
      ["thread_id", "position"],
      ["job_id", "position"],
      ["action_id", "position"],
      ["created_at"],
    ],
  },
);

export type AuditRow = Row<typeof auditLog>;

/** Whatever is given must be so. */
export interface AuditFilter {
  readonly eventType?: string;
  readonly threadId?: string;
  readonly jobId?: string;
  readonly actionId?: string;
  /** Inclusive. */
  readonly from?: string;
  /** Exclusive. */
  readonly until?: string;
}

/** Entries, the newest first; `beforePosition` is the last one's of the page before. */
export function listAudit(
  db: Kysely<ReadModelTables>,
  page: AuditFilter & { readonly beforePosition: number; readonly limit: number },
): Promise<AuditRow[]> {
  const { eventType, threadId, jobId, actionId, from, until, beforePosition, limit } = page;
  let found = db.selectFrom("audit_log").selectAll().where("position", "<", beforePosition);
  if (eventType !== undefined) found = found.where("event_type", "=", eventType);
  if (threadId !== undefined) found = found.where("thread_id", "=", threadId);
  if (jobId !== undefined) found = found.where("job_id", "=", jobId);
  if (actionId !== undefined) found = found.where("action_id", "=", actionId);
  if (from !== undefined) found = found.where("created_at", ">=", from);
  if (until !== undefined) found = found.where("created_at", "<", until);
  return found.orderBy("position", "desc").limit(limit).execute();
}
