import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./exit.js";
import { soon, withServer } from "./socket.js";

export interface AuditOptions {
  readonly type?: string;
  readonly thread?: string;
  readonly action?: string;
}

/** Prints what was decided, approved, carried out, let in and configured, the latest first. */
export async function auditList(context: CliContext, options: AuditOptions): Promise<number> {
  const { type: eventType = "", thread: threadId = "", action: actionId = "" } = options;
  return withServer(context, async (transport) => {
    const system = createClient(SystemService, transport);
    let pageToken = "";
    do {
      const page = await system.listAudit({ eventType, threadId, actionId, pageToken }, soon(context));
      for (const entry of page.items) {
        const at = entry.occurredAt === undefined ? "-" : timestampDate(entry.occurredAt).toISOString();
        const view = { at, type: entry.eventType, action_id: entry.actionId, payload: entry.payload ?? {} };
        context.output.print(view, ({ payload }) => `${at}  ${entry.eventType}  ${JSON.stringify(payload)}`);
      }
      ({ nextPageToken: pageToken } = page);
    } while (pageToken !== "" && !context.signal.aborted);
    return exitCodes.fine;
  });
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
