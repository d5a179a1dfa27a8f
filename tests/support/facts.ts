import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Fact, NewFact } from "../../domain/shared/index.js";
import { ThreadEventSchema } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { MessageRole } from "../../proto/gen/pincer/protocol/v1/thread_events_pb.js";

export const threadCreated: NewFact = { case: "threadCreated", value: { channel: "ios" } };
export const threadDeleted: NewFact = { case: "threadDeleted", value: {} };

/** The owner said something. The message's id is its text unless another is given. */
export function said(text: string, messageId = text): NewFact {
  return { case: "messageCommitted", value: { messageId, role: MessageRole.USER, text } };
}

export function answered(text: string, messageId = text): NewFact {
  return { case: "assistantMessageCommitted", value: { messageId, fullText: text } };
}

export function titled(title: string): NewFact {
  return { case: "threadTitled", value: { title } };
}

/** A piece of an answer: most of a log consists of these, and no projection handles them. */
export function delta(text: string): NewFact {
  return { case: "assistantTextDelta", value: { segmentId: "segment-1", delta: text } };
}

/** The fact as it comes back from the log. */
export function asRead(fact: NewFact): Fact {
  const event = create(ThreadEventSchema, { payload: fact });
  return fromBinary(ThreadEventSchema, toBinary(ThreadEventSchema, event)).payload as Fact;
}
