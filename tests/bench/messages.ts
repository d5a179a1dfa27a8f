import { randomUUID } from "node:crypto";
import type { Append } from "../../commands/ports/index.js";
import { messagesStream } from "../../commands/threads/streams.js";
import type { NewFact } from "../../domain/shared/index.js";
import { MessageRole } from "../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { fromOwner } from "../support/backend.js";

/** What an owner types on a phone: about 200 bytes. */
const text =
  "Could you look through the mails of this week, find the ones from the school about the trip in May, and put the " +
  "dates, the costs and what we have to sign into a short list? The bus company's mail is a day late.";

/** Messages in a thread: one, as sending one appends it, or many at once. */
export function messageAppend(threadId: string, count = 1): Append {
  const messageIds = Array.from({ length: count }, () => randomUUID());
  return {
    occurredAt: Date.now(),
    writes: [
      {
        stream: messagesStream(threadId),
        expected: "any",
        threadId,
        facts: messageIds.map(messageFact),
        provenance: fromOwner,
      },
    ],
  };
}

export function messageFact(messageId: string): NewFact & { readonly case: "messageCommitted" } {
  return {
    case: "messageCommitted",
    value: { messageId, role: MessageRole.USER, text, clientMessageId: randomUUID() },
  };
}
