import { ExecutionOutcome } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { idempotency } from "../../read-models/approvals/index.js";
import { erasedRanges } from "../shared/erased-ranges.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";
import { idIn } from "../shared/stream.js";

export const idempotencyProjection: Projection = {
  name: "idempotency",
  version: 1,
  tables: [idempotency],
  on: {
    actionExecutionIntended({ stream, payload, occurredAt, position }, write) {
      const actionId = idIn(stream, "action");
      // A later attempt uses the key of the first.
      if (actionId === null || payload === null || payload.attempt > 1) return;
      write.insert(idempotency, {
        owner_id: owner,
        tool_name: payload.tool,
        key: payload.idempotencyKey,
        args_hash: payload.argsHash,
        result_hash: null,
        action_id: actionId,
        created_at: occurredAt,
        position,
        result_position: null,
      });
    },
    actionExecutionFinished({ stream, payload, position }, write) {
      const actionId = idIn(stream, "action");
      if (actionId === null) return;
      const result_hash = payload?.outcome === ExecutionOutcome.DONE ? payload.resultHash : null;
      write.update(idempotency, { action_id: actionId }, { result_hash, result_position: position });
    },
    eventsErased({ payload }, write) {
      for (const range of erasedRanges(payload, "actionExecutionIntended")) {
        write.delete(idempotency, {}, { column: "position", ...range });
      }
      for (const range of erasedRanges(payload, "actionExecutionFinished")) {
        write.update(idempotency, {}, { result_hash: null }, { column: "result_position", ...range });
      }
    },
  },
};
