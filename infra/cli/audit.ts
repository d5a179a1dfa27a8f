import { timestampDate, timestampFromDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { parseTime, type CliContext } from "./context.js";
import { exitCodes, UsageError } from "./exit.js";
import { soon, withServer } from "./socket.js";

export interface AuditOptions {
  readonly type?: string;
  readonly thread?: string;
  readonly job?: string;
  readonly action?: string;
  readonly from?: string;
  readonly until?: string;
}

/** Prints what was decided, approved, carried out, let in and configured, the latest first. */
export async function auditList(context: CliContext, options: AuditOptions): Promise<number> {
  const { type: eventType = "", thread: threadId = "", job: jobId = "", action: actionId = "" } = options;
  const filter = { eventType, threadId, jobId, actionId, ...timesOf(options) };
  return withServer(context, async (transport) => {
    const system = createClient(SystemService, transport);
    let pageToken = "";
    do {
      const page = await system.listAudit({ ...filter, pageToken }, soon(context));
      for (const entry of page.items) {
        const at = entry.occurredAt === undefined ? "-" : timestampDate(entry.occurredAt).toISOString();
        const { actor, eventType: type, entityId: entity_id, actionId: action_id, payload = {} } = entry;
        const view = { at, actor, type, entity_id, action_id, payload };
        context.output.print(view, () => `${at}  ${actor || "-"}  ${type}  ${entity_id}  ${JSON.stringify(payload)}`);
      }
      ({ nextPageToken: pageToken } = page);
    } while (pageToken !== "" && !context.signal.aborted);
    return exitCodes.fine;
  });
}

function timesOf({ from, until }: AuditOptions): { readonly fromTime?: Timestamp; readonly untilTime?: Timestamp } {
  return {
    ...(from !== undefined && { fromTime: timestampOf(from, "--from") }),
    ...(until !== undefined && { untilTime: timestampOf(until, "--until") }),
  };
}

function timestampOf(time: string, option: string): Timestamp {
  const instant = parseTime(time);
  if (instant === null) throw new UsageError(`${option} is a time such as 2026-01-31T09:30:00Z, not "${time}"`);
  return timestampFromDate(instant);
}

/** Prints why an action happened, or did not: what led to it, and what became of it. */
export async function explainAction(context: CliContext, actionId: string): Promise<number> {
  return withServer(context, async (transport) => {
    const { steps } = await createClient(SystemService, transport).explain({ actionId }, soon(context));
    for (const { position, occurredAt, eventType, actor, text } of steps) {
      const at = occurredAt === undefined ? "-" : timestampDate(occurredAt).toISOString();
      const view = { position: Number(position), at, type: eventType, actor, text };
      context.output.print(view, () => `${position}  ${at}  ${actor}  ${text}`);
    }
    return exitCodes.fine;
  });
}
