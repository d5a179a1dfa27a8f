import type { LoggedEvent } from "../../domain/shared/index.js";
import { threads } from "../../read-models/threads/index.js";
import { owner } from "../shared/owner.js";
import type { Projection, Write } from "../shared/projection.js";

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
        title_position: null,
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
      const title = event.payload?.title ?? null;
      write.update(threads, { thread_id: event.threadId }, { title, title_position: event.position });
    },
    threadDeleted(event, write) {
      if (event.threadId !== null) write.delete(threads, { thread_id: event.threadId });
    },
    eventsErased(event, write) {
      for (const { first, last, counts } of event.payload?.ranges ?? []) {
        for (const { threadId, type, count } of counts) {
          forget(write, { thread_id: threadId }, type, Number(count), Number(first), Number(last));
        }
      }
    },
  },
};

/** Takes away what the erased events of one type had brought to a thread. */
function forget(
  write: Write,
  key: { readonly thread_id: string },
  type: string,
  count: number,
  first: number,
  last: number,
): void {
  switch (type) {
    case "messageCommitted":
    case "assistantMessageCommitted":
      write.add(threads, key, "message_count", -count);
      break;
    case "threadCreated":
      write.update(threads, key, { channel: "" });
      break;
    case "threadTitled":
      write.update(threads, key, { title: null }, { column: "title_position", first, last });
      break;
  }
}

function countMessage(event: LoggedEvent, write: Write): void {
  if (event.threadId === null) return;
  const news = { updated_at: event.occurredAt, position: event.position };
  write.add(threads, { thread_id: event.threadId }, "message_count", 1, news);
}
