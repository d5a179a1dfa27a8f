import { untrustedContent } from "../../read-models/approvals/index.js";
import { deleteErased } from "../shared/erased.js";
import { erasedRanges } from "../shared/erased-ranges.js";
import type { Projection } from "../shared/projection.js";
import { idIn } from "../shared/stream.js";

const unread = { read_position: null, tool: "", origin: "", text: "" };

/** Nothing is read or begun in a thread that was deleted; what was begun before may end after it. */
export const untrustedContentProjection: Projection = {
  name: "untrusted_content",
  version: 2,
  tables: [untrustedContent],
  on: {
    toolExecutionFinished({ payload, threadId, occurredAt, position }, write) {
      if (!payload?.untrusted || threadId === null) return;
      const { toolName: tool, origin, result: text } = payload;
      const read = { read_position: position, tool, origin, text };
      write.insert(untrustedContent, {
        ...{ position, thread_id: threadId, action_id: null, created_at: occurredAt },
        ...read,
      });
    },
    actionExecutionIntended({ payload, stream, threadId, occurredAt, position }, write) {
      const action_id = idIn(stream, "action");
      if (action_id === null || threadId === null) return;
      // A later attempt takes the place of the first.
      write.delete(untrustedContent, { action_id });
      if (payload === null) return;
      write.insert(untrustedContent, { position, thread_id: threadId, action_id, created_at: occurredAt, ...unread });
    },
    actionExecutionFinished({ payload, stream, position }, write) {
      const action_id = idIn(stream, "action");
      if (action_id === null) return;
      const read = payload?.untrusted
        ? {
            read_position: position,
            tool: payload.tool,
            origin: payload.origin,
            text: payload.result || payload.reason,
          }
        : unread;
      write.update(untrustedContent, { action_id }, read);
    },
    threadDeleted({ threadId }, write) {
      if (threadId !== null) write.delete(untrustedContent, { thread_id: threadId });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, untrustedContent, {}, write);
      for (const range of erasedRanges(payload, "actionExecutionFinished")) {
        write.update(untrustedContent, {}, unread, { column: "read_position", ...range });
      }
    },
  },
};
