import { randomUUID } from "node:crypto";
import type { Provenance, StreamWrite } from "../../commands/ports/index.js";
import { messagesStream } from "../../commands/threads/streams.js";
import type { NewFact } from "../../domain/shared/index.js";
import { ContentTrust, EventSource, TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { fromOwner } from "../support/backend.js";
import { messageFact } from "./messages.js";
import { openOurs } from "./ours.js";

const threadCount = 200;
/** With the turn's other four events, nine out of ten events are deltas. */
const deltasPerTurn = 36;
const eventsPerTurn = deltasPerTurn + 4;
const turnsPerAppend = 20;
/** A model says a few words at a time, and deltas are coalesced before they are appended. */
const deltas = [
  "I have looked through this week's mails",
  " and found four that are about the trip.",
  " The first is from the school's office:",
  " the coach leaves at 07:45 on 12 May,",
  " so the children should be there by half past seven.",
  " It costs 38 €,",
  " to be paid by bank transfer before the end of April;",
  " the reference is the child's name and class.",
];
const turnText = Array.from({ length: deltasPerTurn }, (_, index) => deltas[index % deltas.length]!).join("");

/** A log as years of use would leave it: turn after turn in many threads, and nearly all of it text deltas. */
export async function buildRealisticLog(directory: string, eventCount: number): Promise<void> {
  const ours = await openOurs(directory, threadCount);
  try {
    const turnCount = Math.ceil((eventCount - threadCount) / eventsPerTurn);
    for (let turn = 0; turn < turnCount; turn += turnsPerAppend) {
      const size = Math.min(turnsPerAppend, turnCount - turn);
      const writes = Array.from({ length: size }, (_, index) =>
        turnWrites(ours.threadIds[(turn + index) % threadCount]!),
      );
      await ours.append({ occurredAt: Date.now(), writes: writes.flat() });
    }
  } finally {
    ours.close();
  }
}

function turnWrites(threadId: string): StreamWrite[] {
  const [messageId, assistantMessageId, turnId] = [randomUUID(), randomUUID(), randomUUID()];
  const segmentId = randomUUID();
  const fromModel: Provenance = {
    source: EventSource.MODEL_UNTRUSTED,
    contentTrust: ContentTrust.UNTRUSTED_MODEL,
    actor: { kind: ActorKind.MODEL, id: turnId },
    turnId,
    causationId: messageId,
    correlationId: messageId,
  };
  const said = Array.from({ length: deltasPerTurn }, (_, index): NewFact => ({
    case: "assistantTextDelta",
    value: { segmentId, delta: deltas[index % deltas.length]! },
  }));
  return [
    {
      stream: messagesStream(threadId),
      expected: "any",
      threadId,
      facts: [messageFact(messageId)],
      provenance: fromOwner,
    },
    {
      stream: `turn-${turnId}`,
      expected: "no_stream",
      threadId,
      facts: [
        { case: "turnStarted", value: { userMessageId: messageId, triggerType: TriggerType.CHAT_MESSAGE } },
        ...said,
        { case: "assistantMessageCommitted", value: { messageId: assistantMessageId, fullText: turnText } },
        { case: "turnCompleted", value: { assistantMessageId } },
      ],
      provenance: fromModel,
    },
  ];
}
