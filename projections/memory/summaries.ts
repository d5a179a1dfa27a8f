import { conversationSummaries } from "../../read-models/memory/index.js";
import { deleteErased } from "../shared/erased.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";

export const conversationSummariesProjection: Projection = {
  name: "conversation_summaries",
  version: 2,
  tables: [conversationSummaries],
  on: {
    summaryWritten({ threadId, payload, occurredAt, position }, write) {
      if (threadId === null || payload === null) return;
      write.insert(conversationSummaries, {
        summary_id: payload.summaryId,
        user_id: owner,
        thread_id: threadId,
        summary_text: payload.text,
        turn_count: payload.turnIds.length,
        token_estimate: Number(payload.tokenEstimate),
        through_position: Number(payload.throughPosition),
        created_at: occurredAt,
        position,
      });
    },
    threadDeleted({ threadId }, write) {
      if (threadId !== null) write.delete(conversationSummaries, { thread_id: threadId });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, conversationSummaries, {}, write);
      if (payload?.reason !== "forget") return;
      // Every later summary of a thread is made of what was said before, by itself or through the ones before it.
      for (const { first, counts } of payload.ranges) {
        const later = { column: "position", first: Number(first), last: Number.MAX_SAFE_INTEGER } as const;
        for (const { threadId } of counts) write.delete(conversationSummaries, { thread_id: threadId }, later);
      }
    },
  },
};
