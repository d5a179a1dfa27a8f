import type { LoggedEvent } from "../../domain/shared/index.js";
import { modelCalls, type ModelCallRow } from "../../read-models/budgets/index.js";
import { deleteErased } from "../shared/erased.js";
import { owner } from "../shared/owner.js";
import type { Projection, Write } from "../shared/projection.js";

/** A call whose end has not come, or was erased. */
const open = {
  outcome: null,
  input_tokens: null,
  output_tokens: null,
  cached_input_tokens: null,
  charged_tokens: null,
  ended_at: null,
  ended_position: null,
} satisfies Partial<ModelCallRow>;

/** Calls stay when their thread is deleted: their tokens are spent. */
export const modelCallsProjection: Projection = {
  name: "model_calls",
  version: 1,
  tables: [modelCalls],
  on: {
    modelCallStarted({ threadId, envelope, payload, occurredAt, position }, write) {
      if (payload === null || envelope === null) return;
      write.insert(modelCalls, {
        call_id: payload.callId,
        user_id: owner,
        thread_id: threadId ?? "",
        turn_id: envelope.turnId,
        purpose: payload.purpose,
        provider: payload.provider,
        model: payload.model,
        step: payload.step,
        attempt: payload.attempt,
        reserved_tokens: Number(payload.reservedTokens),
        started_at: occurredAt,
        position,
        ...open,
      });
    },
    modelCallFinished(event, write) {
      if (event.payload === null) return;
      const { callId, inputTokens, outputTokens, cachedInputTokens } = event.payload;
      end(event, write, callId, {
        outcome: "finished",
        input_tokens: Number(inputTokens),
        output_tokens: Number(outputTokens),
        cached_input_tokens: Number(cachedInputTokens),
        charged_tokens: Number(inputTokens + outputTokens),
      });
    },
    modelCallFailed(event, write) {
      if (event.payload === null) return;
      const { callId, chargedTokens } = event.payload;
      end(event, write, callId, { outcome: "failed", charged_tokens: Number(chargedTokens) });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, modelCalls, {}, write);
      for (const { first, last } of payload?.ranges ?? []) {
        write.update(modelCalls, {}, open, { column: "ended_position", first: Number(first), last: Number(last) });
      }
    },
  },
};

function end(
  { occurredAt, position }: LoggedEvent,
  write: Write,
  callId: string,
  outcome: Partial<ModelCallRow>,
): void {
  write.update(modelCalls, { call_id: callId }, { ...outcome, ended_at: occurredAt, ended_position: position });
}
