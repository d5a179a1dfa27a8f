import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Ids } from "../../commands/ports/index.js";
import { startTurn, turnIdOf, type StartTurn } from "../../commands/threads/start-turn.js";
import type { TurnPlace } from "../../commands/threads/turn-ports.js";
import { refuse, toInstant, toText, type EventType, type PayloadOf } from "../../domain/shared/index.js";
import { TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ReasoningVisibility } from "../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { QueueMode, type TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { findPendingOfTurn } from "../../read-models/approvals/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { findLastAnswer, findTurn, type TurnRow } from "../../read-models/threads/index.js";
import type { LogReader } from "../event-log/index.js";
import { provenanceOf } from "./caller.js";
import { toCount, type EventStreams } from "./event-streams.js";
import { expectDone, toConnectError } from "./refusal.js";

/** How long a call may wait for a turn to end. The turn goes on without it. */
const sendMillisMax = 100_000;

type Asked = Omit<StartTurn, "at" | "provenance" | "allowsRawReasoning">;

export function turnsService(
  handling: Handling & { readonly log: LogReader; readonly ids: Ids },
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
  /** Whether all of it was in the log when the heartbeat was. */
  const isOver = async (turnId: string, { headPosition }: { readonly headPosition: bigint }) => {
    const turn = await findTurn(query, turnId);
    if (turn === undefined) return true; // It went with its thread.
    return turn.ended_position !== null && turn.ended_position <= Number(headPosition);
  };
  /** The turn once it has ended, or waits for the owner, who may take a day. Rejects if it takes longer than a call may. */
  const settled = async ({ threadId, turnId }: TurnPlace, over: AbortSignal): Promise<TurnRow> => {
    for (;;) {
      const news = streams.next(threadId, settling, over); // Before it looks, so that it misses nothing.
      await handling.readModels.reached(handling.log.head().position);
      const turn = await findTurn(query, turnId);
      if (turn === undefined) throw toConnectError(refuse("thread_deleted"));
      if (turn.ended_position !== null || turn.paused_position !== null) return turn;
      if (over.reason instanceof Error) throw over.reason;
      if (over.aborted) throw toConnectError(refuse("turn_unfinished", { turnId }));
      await news;
    }
  };
  /** What the turn has come to, with the event that says so. */
  const outcomeOf = async (turn: TurnRow) => {
    const { turn_id: turnId, thread_id: threadId, ended_position, paused_position } = turn;
    const [row] = handling.log.readAll((ended_position ?? paused_position ?? 0) - 1, 1);
    if (row === undefined) throw new Error(`turn ${turnId} has ended at a position that is not in the log`);
    const { sequence, type, payload } = handling.log.decode(row);
    if (type === "turnFailed") {
      const failed = payload as PayloadOf<"turnFailed"> | null;
      throw toConnectError(refuse("turn_failed", { turnId, ...failureOf(failed) }));
    }
    const assistantMessage = (await findLastAnswer(query, { threadId, turnId }))?.content ?? "";
    const actionId = turn.status === "paused" ? ((await findPendingOfTurn(query, turnId))?.action_id ?? "") : "";
    return { turnId, assistantMessage, actionId, lastSequence: BigInt(sequence ?? 0) };
  };

  return {
    async *startTurn(request, context) {
      requireKnown(request);
      const from = toCount(request.resumeFromSequence);
      const asked = named({ ...request, text: request.userText, requestedBudget: request.requestedBudget ?? null });
      const { threadId, turnId } = asked;
      const start = async () => {
        const before = await begin(asked, context);
        return from === 0 ? before : from;
      };
      for await (const event of streams.openTurn({ threadId, turnId }, context, start)) {
        yield event;
        // Whoever asks from beyond the end of the turn has seen it.
        const { payload } = event;
        if (payload.case === "heartbeat" && payload.value.upToDate && (await isOver(turnId, payload.value))) return;
      }
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
      // Not AbortSignal.timeout: joined with others, it may be collected before its time.
      const late = new AbortController();
      const timer = setTimeout(() => {
        late.abort();
      }, sendMillisMax);
      try {
        const over = streams.admit(context, AbortSignal.any([context.signal, late.signal]));
        await begin(asked, context);
        return await outcomeOf(await settled(asked, over));
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** What may settle a turn, for whoever waits for that. */
const settling: ReadonlySet<EventType> = new Set(["turnCompleted", "turnFailed", "turnPaused", "threadDeleted"]);

/** Why it has failed, and whether and when it makes sense to try again. */
function failureOf(failed: PayloadOf<"turnFailed"> | null) {
  if (failed === null) return {};
  const { code, message, retryable, retryAt } = failed;
  const when = retryAt === undefined ? {} : { retryAt: toText(toInstant(retryAt)) };
  return { code, message, retryable: String(retryable), ...when };
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
