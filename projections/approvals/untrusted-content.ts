import type { LoggedEvent } from "../../domain/shared/index.js";
import { untrustedContent } from "../../read-models/approvals/index.js";
import { deleteErased } from "../shared/erased.js";
import type { Projection, Write } from "../shared/projection.js";

export const untrustedContentProjection: Projection = {
  name: "untrusted_content",
  version: 1,
  tables: [untrustedContent],
  on: {
    toolExecutionFinished(event, write) {
      const { payload } = event;
      if (payload?.untrusted) keep(event, write, { ...payload, tool: payload.toolName });
    },
    actionExecutionFinished(event, write) {
      const { payload } = event;
      if (payload?.untrusted) keep(event, write, payload);
    },
    threadDeleted({ threadId }, write) {
      if (threadId !== null) write.delete(untrustedContent, { thread_id: threadId });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, untrustedContent, {}, write);
    },
  },
};

function keep(
  { threadId, occurredAt, position }: LoggedEvent,
  write: Write,
  read: { readonly tool: string; readonly origin: string; readonly result: string },
): void {
  if (threadId === null) return;
  const { tool, origin, result } = read;
  write.insert(untrustedContent, { position, thread_id: threadId, tool, origin, created_at: occurredAt, text: result });
}
