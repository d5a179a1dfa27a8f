import type { LoggedEvent } from "../../domain/shared/index.js";
import { turns, type TurnRow } from "../../read-models/threads/index.js";
import { owner } from "../shared/owner.js";
import type { Projection, Write } from "../shared/projection.js";

/** What it is made from is never erased: ids, times and codes, and nothing that anybody said. */
export const turnsProjection: Projection = {
  name: "turns",
  version: 2,
  tables: [turns],
  on: {
    turnQueued(event, write) {
      if (event.threadId === null || event.payload === null) return;
      write.insert(turns, newTurn(event, event.threadId, event.payload));
    },
    turnStarted(event, write) {
      const { threadId, payload, occurredAt, position } = event;
      if (threadId === null || payload === null) return;
      write.delete(turns, { turn_id: payload.turnId });
      const started = { status: "running", started_at: occurredAt, started_position: position };
      write.insert(turns, { ...newTurn(event, threadId, payload), ...started });
    },
    turnPaused({ payload, position }, write) {
      if (payload !== null)
        write.update(turns, { turn_id: payload.turnId }, { status: "paused", paused_position: position });
    },
    turnResumed({ payload }, write) {
      if (payload !== null)
        write.update(turns, { turn_id: payload.turnId }, { status: "running", paused_position: null });
    },
    turnCompleted(event, write) {
      const { assistantMessageId = "" } = event.payload ?? {};
      end(event, write, { status: "completed", assistant_message_id: assistantMessageId || null });
    },
    turnFailed(event, write) {
      end(event, write, { status: "failed", failure_code: event.payload?.code ?? null });
    },
    threadDeleted({ threadId }, write) {
      if (threadId !== null) write.delete(turns, { thread_id: threadId });
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
    paused_position: null,
    ended_position: null,
  };
}

/** A thread has at most one turn that is running, and only that can end. */
function end({ threadId, occurredAt, position }: LoggedEvent, write: Write, outcome: Partial<TurnRow>): void {
  if (threadId === null) return;
  const ended = { ...outcome, ended_at: occurredAt, ended_position: position };
  write.update(turns, { thread_id: threadId, status: "running" }, ended);
}
