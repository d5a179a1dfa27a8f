import type { LoggedEvent } from "../../domain/shared/index.js";
import { turns, type TurnRow } from "../../read-models/threads/index.js";
import { owner } from "../shared/owner.js";
import type { Projection, Write } from "../shared/projection.js";

/**
 * A thread has at most one active turn, so it is known whose end an event is even if that was erased. Which of the
 * waiting turns an erased start belongs to is not: it takes all of them away, and they are back once they start.
 */
export const turnsProjection: Projection = {
  name: "turns",
  version: 1,
  tables: [turns],
  on: {
    turnQueued(event, write) {
      if (event.threadId === null || event.payload === null) return;
      write.insert(turns, newTurn(event, event.threadId, event.payload));
    },
    turnStarted(event, write) {
      const { threadId, payload, occurredAt, position } = event;
      if (threadId === null) return;
      if (payload === null) {
        write.delete(turns, { thread_id: threadId, status: "queued" });
        return;
      }
      write.delete(turns, { turn_id: payload.turnId });
      const started = { status: "running", started_at: occurredAt, started_position: position };
      write.insert(turns, { ...newTurn(event, threadId, payload), ...started });
    },
    turnPaused({ threadId }, write) {
      if (threadId !== null) write.update(turns, { thread_id: threadId, status: "running" }, { status: "paused" });
    },
    turnResumed({ threadId }, write) {
      if (threadId !== null) write.update(turns, { thread_id: threadId, status: "paused" }, { status: "running" });
    },
    turnCompleted(event, write) {
      const { assistantMessageId = "" } = event.payload ?? {};
      end(event, write, { status: "completed", assistant_message_id: assistantMessageId || null });
    },
    turnFailed(event, write) {
      const failure_code = event.payload?.code ?? null;
      end(event, write, { status: "failed", failure_code });
    },
    threadDeleted({ threadId }, write) {
      if (threadId !== null) write.delete(turns, { thread_id: threadId });
    },
    eventsErased({ payload }, write) {
      for (const { first, last, counts } of payload?.ranges ?? []) {
        for (const { threadId, type } of counts) forget(write, threadId, type, Number(first), Number(last));
      }
    },
  },
};

function newTurn(
  event: LoggedEvent,
  threadId: string,
  asked: { readonly turnId: string; readonly triggerType: number; readonly userMessageId: string },
): TurnRow {
  return {
    turn_id: asked.turnId,
    user_id: owner,
    thread_id: threadId,
    status: "queued",
    trigger_type: asked.triggerType,
    user_message_id: asked.userMessageId,
    assistant_message_id: null,
    failure_code: null,
    started_at: null,
    ended_at: null,
    position: event.position,
    started_position: null,
    ended_position: null,
  };
}

function end({ threadId, occurredAt, position }: LoggedEvent, write: Write, outcome: Partial<TurnRow>): void {
  if (threadId === null) return;
  const ended = { ...outcome, ended_at: occurredAt, ended_position: position };
  write.update(turns, { thread_id: threadId, status: "running" }, ended);
  write.update(turns, { thread_id: threadId, status: "paused" }, ended);
}

/** Takes away what the erased events of one type had brought to the turns of a thread. */
function forget(write: Write, threadId: string, type: string, first: number, last: number): void {
  const thread = { thread_id: threadId };
  switch (type) {
    case "turnQueued":
      write.delete(turns, thread, { column: "position", first, last });
      break;
    case "turnStarted":
      write.delete(turns, thread, { column: "position", first, last });
      // Those that were waiting when it started; one that came later and in this range is erased itself.
      write.delete(turns, { ...thread, status: "queued" }, { column: "position", first: 0, last });
      break;
    case "turnCompleted":
    case "turnFailed": {
      const erased = { assistant_message_id: null, failure_code: null };
      write.update(turns, thread, erased, { column: "ended_position", first, last });
      break;
    }
  }
}
