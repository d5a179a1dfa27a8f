import type { LoggedEvent } from "../../domain/shared/index.js";
import { threads } from "../../read-models/threads/index.js";
import type { Projection, Write } from "../shared/projection.js";

/** One owner, one instance. */
const owner = "owner";

export const threadsProjection: Projection = {
  name: "threads",
  version: 1,
  tables: [threads],
  on: {
    threadCreated(event, write) {
      if (event.threadId === null) return;
      write.insert(threads, {
        thread_id: event.threadId,
        user_id: owner,
        channel: event.payload?.channel ?? "",
        title: null,
        message_count: 0,
        created_at: event.occurredAt,
        updated_at: event.occurredAt,
        position: event.position,
      });
    },
    messageCommitted: countMessage,
    assistantMessageCommitted: countMessage,
    threadTitled(event, write) {
      if (event.threadId === null) return;
      write.update(threads, { thread_id: event.threadId }, { title: event.payload?.title ?? null });
    },
    threadDeleted(event, write) {
      if (event.threadId !== null) write.delete(threads, { thread_id: event.threadId });
    },
    eventsErased(event, write) {
      for (const { threadId, type, count } of event.payload?.ranges.flatMap(({ counts }) => counts) ?? []) {
        switch (type) {
          case "messageCommitted":
          case "assistantMessageCommitted":
            write.add(threads, { thread_id: threadId }, "message_count", -Number(count));
            break;
          case "threadCreated":
            write.update(threads, { thread_id: threadId }, { channel: "" });
            break;
          case "threadTitled":
            write.update(threads, { thread_id: threadId }, { title: null });
            break;
        }
      }
    },
  },
};

function countMessage(event: LoggedEvent, write: Write): void {
  if (event.threadId === null) return;
  const news = { updated_at: event.occurredAt, position: event.position };
  write.add(threads, { thread_id: event.threadId }, "message_count", 1, news);
}
