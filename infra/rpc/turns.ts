import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Ids } from "../../commands/ports/index.js";
import { startTurn, turnIdOf, type StartTurn } from "../../commands/threads/start-turn.js";
import { refuse } from "../../domain/shared/index.js";
import { TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { ReasoningVisibility } from "../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { QueueMode, type TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { findTurn } from "../../read-models/threads/index.js";
import { provenanceOf } from "./caller.js";
import { toCount, type EventStreams } from "./event-streams.js";
import { expectDone, toConnectError } from "./refusal.js";

/** How long a call may wait for a turn to end. The turn goes on without it. */
const sendMillisMax = 100_000;

type Asked = Omit<StartTurn, "at" | "provenance" | "allowsRawReasoning">;

export function turnsService(
  handling: Handling & { readonly ids: Ids },
  streams: EventStreams,
  query: Kysely<ReadModelTables>,
  clock: Clock,
  allowsRawReasoning: boolean,
): ServiceImpl<typeof TurnsService> {
  /** Starts the turn, or finds it if it was started before. */
  const begin = async (asked: Asked, context: HandlerContext) => {
    // Without an id of its own a message is sent once.
    const named = { ...asked, clientMessageId: asked.clientMessageId || handling.ids.next() };
    const command = { ...named, allowsRawReasoning, at: clock.now(), provenance: provenanceOf(context) };
    const { events } = expectDone(await startTurn(handling, command));
    return { turnId: turnIdOf(handling.ids, named), before: (events[0]?.sequence ?? 1) - 1 };
  };
  /** The events of a turn until it ends. */
  async function* watchTurn(
    threadId: string,
    turnId: string,
    from: number,
    context: HandlerContext,
    signal = context.signal,
  ): AsyncGenerator<ThreadEvent, void, void> {
    for await (const event of streams.openDecoded(threadId, from, context, signal)) {
      const { case: type } = event.payload;
      const isOfStream = type === "heartbeat" || type === "streamGap";
      if (isOfStream || event.turnId === turnId) yield event;
      if (type === "threadDeleted" || (event.turnId === turnId && isEnd(type))) return;
      // Whoever asks from beyond the end of the turn has seen it.
      const isCaughtUp = event.payload.case === "heartbeat" && event.payload.value.upToDate;
      if (isCaughtUp && (await isOver(turnId))) return;
    }
  }
  const isOver = async (turnId: string) => (await findTurn(query, turnId))?.ended_at !== null;

  return {
    async *startTurn(request, context) {
      const { threadId, resumeFromSequence, requestedBudget = null } = request;
      requireKnown(request);
      const asked = { ...request, text: request.userText, requestedBudget };
      const { turnId, before } = await begin(asked, context);
      const from = resumeFromSequence === 0n ? before : toCount(resumeFromSequence);
      yield* watchTurn(threadId, turnId, from, context);
    },

    async sendTurn({ threadId, userText, triggerType, clientMessageId }, context) {
      const usual = {
        queueMode: QueueMode.QUEUE_AFTER_TURN,
        reasoningVisibility: ReasoningVisibility.REASONING_VISIBILITY_UNSPECIFIED,
        triggerSourceId: "",
        requestedBudget: null,
      };
      requireKnown({ ...usual, triggerType });
      const { turnId, before } = await begin(
        { ...usual, threadId, clientMessageId, text: userText, triggerType },
        context,
      );
      const late = AbortSignal.timeout(sendMillisMax);
      const signal = AbortSignal.any([context.signal, late]);
      let assistantMessage = "";
      for await (const event of watchTurn(threadId, turnId, before, context, signal)) {
        const { payload, sequence } = event;
        if (payload.case === "assistantMessageCommitted") assistantMessage = payload.value.fullText;
        if (payload.case === "turnFailed") {
          const { code, message } = payload.value;
          throw toConnectError(refuse("turn_failed", { turnId, code, message }));
        }
        if (payload.case === "turnCompleted") return { turnId, assistantMessage, actionId: "", lastSequence: sequence };
      }
      throw toConnectError(refuse("turn_unfinished", { turnId }));
    },
  };
}

function isEnd(type: ThreadEvent["payload"]["case"]): boolean {
  return type === "turnCompleted" || type === "turnFailed";
}

/** Values that a newer client may know, and we do not. */
function requireKnown(asked: Pick<Asked, "queueMode" | "reasoningVisibility" | "triggerType">): void {
  const fields = [
    ["queue_mode", asked.queueMode, QueueMode],
    ["reasoning_visibility", asked.reasoningVisibility, ReasoningVisibility],
    ["trigger_type", asked.triggerType, TriggerType],
  ] as const;
  for (const [field, value, known] of fields) {
    if (!(value in known)) throw toConnectError(refuse("value_unknown", { field }));
  }
}
