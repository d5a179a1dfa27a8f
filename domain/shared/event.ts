import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ThreadEvent, ThreadEventSchema } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";

type Payload = Exclude<ThreadEvent["payload"], { case: undefined }>;
type PayloadInit = NonNullable<MessageInitShape<typeof ThreadEventSchema>["payload"]>;

/** Heartbeats and gaps speak of the stream itself; they are sent, never stored. */
type Transient = "heartbeat" | "streamGap";

/** The name of something that can happen: the payload's oneof case. */
export type EventType = Exclude<Payload["case"], Transient>;

export type PayloadOf<T extends EventType> = Extract<Payload, { case: T }>["value"];

/** A fact as `evolve` sees it. That it happened survives erasure; what it said is null then. */
export type Fact<T extends EventType = EventType> = {
  readonly [Case in T]: { readonly case: Case; readonly value: PayloadOf<Case> | null };
}[T];

/** A fact about to be recorded. Fields that keep their protobuf default may be left out. */
export type NewFact = Extract<PayloadInit, { case: EventType }>;

/** A fact that was recorded, or is about to be: what a state that looks ahead evolves by. */
export type Told = Fact | NewFact;

/** What is known of an event whatever it says. All but the envelope survives erasure. */
export interface LoggedEvent {
  readonly position: number;
  readonly eventId: string;
  readonly stream: string;
  readonly version: number;
  readonly threadId: string | null;
  readonly sequence: number | null;
  /** UTC, RFC 3339, milliseconds. */
  readonly occurredAt: string;
  /** The event whole, as clients receive it; null once erased. */
  readonly envelope: ThreadEvent | null;
}

/** One event of the log. */
export interface RecordedEvent<T extends EventType = EventType> extends LoggedEvent {
  readonly type: T;
  /** null once erased. */
  readonly payload: PayloadOf<T> | null;
}
