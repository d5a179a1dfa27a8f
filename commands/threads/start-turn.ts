import { refuseTextIfAny, type Instant } from "../../domain/shared/index.js";
import {
  commitMessage,
  effectiveBudget,
  evolveThread,
  evolveTurnQueue,
  initialThread,
  initialTurnQueue,
  startTurn as decideToStart,
  type TurnBudget,
} from "../../domain/threads/index.js";
import { TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { MessageRole } from "../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { ReasoningVisibility } from "../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import type { QueueMode } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Ids, Provenance } from "../ports/index.js";
import { messagesStream, threadStream, turnsStream } from "./streams.js";

/** Of ids that others make. */
const idBytesMax = 200;

export interface StartTurn {
  readonly threadId: string;
  /** Sent again, it is the same turn. */
  readonly clientMessageId: string;
  readonly text: string;
  readonly queueMode: QueueMode;
  readonly reasoningVisibility: ReasoningVisibility;
  readonly triggerType: TriggerType;
  readonly triggerSourceId: string;
  readonly requestedBudget: Partial<TurnBudget> | null;
  readonly allowsRawReasoning: boolean;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function turnIdOf(ids: Ids, { threadId, clientMessageId }: Pick<StartTurn, "threadId" | "clientMessageId">) {
  return ids.derive("turn", threadId, clientMessageId);
}

/** Commits what somebody said, and begins to answer it, or lets it wait. */
export async function startTurn(handling: Handling & { readonly ids: Ids }, command: StartTurn): Promise<Handled> {
  const { threadId, clientMessageId, text, at } = command;
  const tooLong = refuseTextIfAny(clientMessageId, idBytesMax) ?? refuseTextIfAny(command.triggerSourceId, idBytesMax);
  if (tooLong !== null) return tooLong;
  const turnId = turnIdOf(handling.ids, command);
  const messageId = handling.ids.derive("message", threadId, clientMessageId);
  const provenance = { ...command.provenance, turnId, correlationId: turnId };
  const request = {
    turnId,
    userMessageId: messageId,
    triggerType: command.triggerType || TriggerType.CHAT_MESSAGE,
    triggerSourceId: command.triggerSourceId,
    reasoningVisibility: command.reasoningVisibility || ReasoningVisibility.REASONING_SUMMARY,
    budget: effectiveBudget(command.requestedBudget),
  };
  return handle(handling, {
    at,
    key: { id: `start-turn:${turnId}`, asked: { threadId, text } },
    decide: (load) => {
      const thread = load(threadStream(threadId), initialThread, evolveThread);
      const queue = load(turnsStream(threadId), initialTurnQueue, evolveTurnQueue);
      const message = commitMessage(thread, { messageId, role: MessageRole.USER, text, clientMessageId });
      const turn = decideToStart(thread, queue, request, command.queueMode, command);
      return [
        { stream: messagesStream(threadId), threadId, provenance, decision: message },
        { stream: turnsStream(threadId), threadId, provenance, decision: turn },
      ];
    },
  });
}
