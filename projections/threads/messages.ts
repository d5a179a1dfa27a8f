import { MessageRole } from "../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { messages } from "../../read-models/threads/index.js";
import type { LoggedEvent } from "../../domain/shared/index.js";
import type { Projection, Write } from "../shared/projection.js";

export const messagesProjection: Projection = {
  name: "messages",
  version: 1,
  tables: [messages],
  on: {
    messageCommitted(event, write) {
      const { payload } = event;
      if (payload === null) return;
      const role = payload.role === MessageRole.SYSTEM ? "system" : "user";
      insertMessage(event, write, role, payload.messageId, payload.text, payload.metadata);
    },
    assistantMessageCommitted(event, write) {
      const { payload } = event;
      if (payload === null) return;
      insertMessage(event, write, "assistant", payload.messageId, payload.fullText, payload.metadata);
    },
    threadDeleted(event, write) {
      if (event.threadId !== null) write.delete(messages, { thread_id: event.threadId });
    },
    eventsErased(event, write) {
      for (const { first, last, counts } of event.payload?.ranges ?? []) {
        for (const threadId of new Set(counts.map((count) => count.threadId))) {
          const only = { column: "position", first: Number(first), last: Number(last) } as const;
          write.delete(messages, { thread_id: threadId }, only);
        }
      }
    },
  },
};

function insertMessage(
  event: LoggedEvent,
  write: Write,
  role: "user" | "assistant" | "system",
  messageId: string,
  content: string,
  metadata: object | undefined,
): void {
  if (event.threadId === null || event.envelope === null) return;
  write.insert(messages, {
    message_id: messageId,
    thread_id: event.threadId,
    turn_id: event.envelope.turnId || null,
    role,
    content,
    content_trust: event.envelope.contentTrust,
    metadata_json: metadata === undefined ? null : JSON.stringify(metadata),
    created_at: event.occurredAt,
    position: event.position,
  });
}
