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
import { findPendingOfTurn } from "../../read-models/approvals/index.js";
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
  /** Without an id of its own a message is sent once. */
  const named = (asked: Asked): Asked & { readonly turnId: string } => {
    const clientMessageId = asked.clientMessageId || handling.ids.next();
    return { ...asked, clientMessageId, turnId: turnIdOf(handling.ids, { ...asked, clientMessageId }) };
  };
  /** Starts the turn, or finds it if it was started before; answers the sequence before its first event. */
  const begin = async (asked: Asked, context: HandlerContext): Promise<number> => {
    const command = { ...asked, allowsRawReasoning, at: clock.now(), provenance: provenanceOf(context) };
    const { events } = expectDone(await startTurn(handling, command));
    return (events[0]?.sequence ?? 1) - 1;
  };
  /** The events of a turn until it ends, or its thread does. It is started once it is certain that they can be watched. */
  async function* runTurn(
    asked: ReturnType<typeof named>,
    from: number,
    context: HandlerContext,
    left: AbortSignal,
  ): AsyncGenerator<ThreadEvent, void, void> {
    const { threadId, turnId } = asked;
    const start = async () => {
      const before = await begin(asked, context);
      return from === 0 ? before : from;
    };
    for await (const event of streams.openDecoded(threadId, context, left, start)) {
      const { payload } = event;
      const isOfTurn = event.turnId === turnId;
      if (isOfTurn || ofEveryStream.has(payload.case)) yield event;
      if (payload.case === "threadDeleted" || (isOfTurn && isEnd(payload.case))) return;
      // Whoever asks from beyond the end of the turn has seen it.
      if (payload.case === "heartbeat" && payload.value.upToDate && (await isOver(turnId, payload.value))) return;
    }
  }
  /** Whether all of it was in the log when the heartbeat was. */
  const isOver = async (turnId: string, { headPosition }: { readonly headPosition: bigint }) => {
    const turn = await findTurn(query, turnId);
    if (turn === undefined) return true; // It went with its thread.
    return turn.ended_position !== null && turn.ended_position <= Number(headPosition);
  };

  const firstPending = async (turnId: string) => (await findPendingOfTurn(query, turnId))?.action_id ?? "";

  return {
    async *startTurn(request, context) {
      requireKnown(request);
      const from = toCount(request.resumeFromSequence);
      const asked = named({ ...request, text: request.userText, requestedBudget: request.requestedBudget ?? null });
      yield* runTurn(asked, from, context, context.signal);
    },

    async sendTurn({ threadId, userText, triggerType, clientMessageId }, context) {
      const usual = {
        queueMode: QueueMode.QUEUE_AFTER_TURN,
        reasoningVisibility: ReasoningVisibility.REASONING_VISIBILITY_UNSPECIFIED,
        triggerSourceId: "",
        requestedBudget: null,
      };
      requireKnown({ ...usual, triggerType });
      const asked = named({ ...usual, threadId, clientMessageId, text: userText, triggerType });
      const { turnId } = asked;
      // Not AbortSignal.timeout: joined with others, it may be collected before its time.
      const late = new AbortController();
      setTimeout(() => {
        late.abort();
      }, sendMillisMax).unref();
      const left = AbortSignal.any([context.signal, late.signal]);
      let assistantMessage = "";
      for await (const { payload, sequence } of runTurn(asked, 0, context, left)) {
        switch (payload.case) {
          case "assistantMessageCommitted":
            assistantMessage = payload.value.fullText;
            break;
          case "turnPaused":
            // It waits for the owner, who may take a day; the client need not. If it goes on by now, so do we.
            if ((await findTurn(query, turnId))?.status !== "paused") break;
            return { turnId, assistantMessage, actionId: await firstPending(turnId), lastSequence: sequence };
          case "turnCompleted":
            return { turnId, assistantMessage, lastSequence: sequence };
          case "turnFailed": {
            const { code, message } = payload.value;
            throw toConnectError(refuse("turn_failed", { turnId, code, message }));
          }
          case "threadDeleted":
            throw toConnectError(refuse("thread_deleted"));
          default:
            break;
        }
      }
      throw toConnectError(refuse("turn_unfinished", { turnId }));
    },
  };
}

/** What is said of the stream, or of the whole thread. */
const ofEveryStream: ReadonlySet<ThreadEvent["payload"]["case"]> = new Set(["heartbeat", "streamGap", "threadDeleted"]);

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
