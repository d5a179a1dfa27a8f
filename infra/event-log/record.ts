import { create, fromBinary } from "@bufbuild/protobuf";
import type { EventType, NewFact, PayloadOf, RecordedEvent } from "../../domain/shared/index.js";
import type { Provenance } from "../../commands/ports/index.js";
import { ThreadEventSchema, type ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { LogError } from "./errors.js";

/** One row of the log, as it is stored. */
export interface StoredEvent {
  readonly position: number;
  readonly event_id: string;
  readonly stream: string;
  readonly version: number;
  readonly thread_id: string | null;
  readonly sequence: number | null;
  readonly type: string;
  readonly command_id: string | null;
  readonly command_digest: Uint8Array | null;
  readonly command_events: number | null;
  readonly occurred_at: string;
  readonly event: Uint8Array | null;
  readonly salt: Uint8Array | null;
  readonly digest: Uint8Array;
  readonly hash: Uint8Array;
}

const payloadCases = ThreadEventSchema.fields.filter((field) => field.oneof?.name === "payload");

/** Every type this version can read from a log. */
export const eventTypes: ReadonlySet<string> = new Set(
  payloadCases.map((field) => field.localName).filter((name) => name !== "heartbeat" && name !== "streamGap"),
);

export interface Placement {
  readonly eventId: string;
  readonly position: number;
  readonly stream: string;
  readonly version: number;
  readonly threadId: string | null;
  readonly sequence: number | null;
  readonly occurredAt: string;
}

/** The event whole, exactly as a client will receive it. */
export function compose(fact: NewFact, provenance: Provenance, at: Placement, occurredAtMillis: number): ThreadEvent {
  const seconds = Math.floor(occurredAtMillis / 1000);
  return create(ThreadEventSchema, {
    eventId: at.eventId,
    threadId: at.threadId ?? "",
    jobId: provenance.jobId ?? "",
    turnId: provenance.turnId ?? "",
    sequence: BigInt(at.sequence ?? 0),
    occurredAt: { seconds: BigInt(seconds), nanos: (occurredAtMillis - seconds * 1000) * 1_000_000 },
    source: provenance.source,
    contentTrust: provenance.contentTrust,
    position: BigInt(at.position),
    stream: at.stream,
    version: BigInt(at.version),
    causationId: provenance.causationId ?? "",
    correlationId: provenance.correlationId ?? "",
    actor: provenance.actor,
    payload: fact,
  });
}

export function toRecorded(at: Placement, envelope: ThreadEvent): RecordedEvent {
  // Field by field, because spreading costs as much as hashing here.
  return {
    eventId: at.eventId,
    position: at.position,
    stream: at.stream,
    version: at.version,
    threadId: at.threadId,
    sequence: at.sequence,
    occurredAt: at.occurredAt,
    type: envelope.payload.case as EventType,
    envelope,
    payload: envelope.payload.value as PayloadOf<EventType>,
  };
}

/** Reads a row. A type that this version does not know, or bytes that are no event, are never passed over. */
export function decode(row: StoredEvent, file: string): RecordedEvent {
  if (!eventTypes.has(row.type)) {
    throw new LogError("foreign", file, row.position, `event type "${row.type}" is not known to this version`);
  }
  const at = {
    eventId: row.event_id,
    position: row.position,
    stream: row.stream,
    version: row.version,
    threadId: row.thread_id,
    sequence: row.sequence,
    occurredAt: row.occurred_at,
  };
  if (row.event === null) return { ...at, type: row.type as EventType, envelope: null, payload: null };
  const envelope = decodeBytes(row.event, row, file);
  if (envelope.payload.case !== row.type) {
    throw new LogError(
      "broken",
      file,
      row.position,
      `the row says "${row.type}", its event "${envelope.payload.case}"`,
    );
  }
  return toRecorded(at, envelope);
}

function decodeBytes(bytes: Uint8Array, row: StoredEvent, file: string): ThreadEvent {
  try {
    return fromBinary(ThreadEventSchema, bytes);
  } catch (cause) {
    throw new LogError("broken", file, row.position, "the stored bytes are not an event", { cause });
  }
}
