import { setImmediate as breathe } from "node:timers/promises";
import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { WireType } from "@bufbuild/protobuf/wire";
import { ThreadEventSchema, type ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { ContentTrust, EventSource } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { Growth, LogReader, WireEvent } from "../event-log/index.js";

export const heartbeatMillisDefault = 15_000;
/** What one stopped reader may hold, about: a page is read only when the one before is on its way. */
const pageBytesMax = 64 * 1024;
const pageEventsMax = 200;
const firstPageEvents = 10;

export interface Watching {
  readonly log: LogReader;
  readonly growth: Growth;
  /** Clients that speak JSON get messages; to the others the stored bytes go as they are. */
  readonly asJson: boolean;
  /** False if the client has shown a head that this log does not have: its cursor belongs to another. */
  readonly isSameLog: boolean;
  /** Aborted with an error that the client shall be told, or with none when it has gone. */
  readonly signal: AbortSignal;
  /** What of it the client gets, by the stored bytes; after what is "last" the stream ends. */
  readonly choose?: (event: Uint8Array) => "pass" | "skip" | "last";
  /** After so long without an event the stream says that it is still there. */
  readonly heartbeatMillis: number;
  /** Where the stream is. */
  onSent(cursor: number): void;
  onGap(): void;
}

/**
 * A thread, or the whole log if it is null, from a cursor on, exclusive: what is there, and then what comes. Replay and
 * live are one loop by cursor, so there is no moment between them in which an event could be missed or repeated, and a
 * slow client slows down only itself.
 */
export async function* watch(
  threadId: string | null,
  from: number,
  watching: Watching,
): AsyncGenerator<ThreadEvent, void, void> {
  const { log, growth, signal } = watching;
  let cursor = from;
  let pageEvents = firstPageEvents;
  const told = { isUpToDate: false };
  const beat = () => {
    const head = headOf(log, threadId);
    told.isUpToDate ||= cursor === head;
    return heartbeat(log, threadId, head, cursor === head);
  };
  if (!watching.isSameLog || cursor > headOf(log, threadId)) {
    watching.onGap();
    yield gap(log, threadId, cursor);
    return;
  }
  yield beat();
  while (!signal.aborted) {
    const page = held(log.wire.read(threadId, cursor, pageEvents));
    const { erasures } = growth;
    // What was erased while the reader took its time is not sent from memory.
    const isGood = () => !signal.aborted && growth.erasures === erasures;
    for (const [next, bytes] of page) {
      if (!isGood()) break;
      if (bytes === null && threadId !== null) {
        watching.onGap();
        yield gap(log, threadId, cursor);
        return;
      }
      const choice = bytes === null ? "pass" : (watching.choose?.(bytes) ?? "pass");
      if (choice !== "skip") yield bytes === null ? withoutPayload(log, next) : toMessage(bytes, watching.asJson);
      cursor = next;
      watching.onSent(cursor);
      if (choice === "last") return;
    }
    if (page.length > 0) {
      pageEvents = fitting(page);
      if (watching.choose !== undefined) await breathe(); // What is skipped waits for no reader.
      continue;
    }
    if (!told.isUpToDate) {
      yield beat(); // Replay has ended.
      continue;
    }
    if ((await grown(threadId, watching)) === "idle") yield beat();
  }
  if (signal.reason instanceof Error) throw signal.reason;
}

/** What of a page may wait for its reader, when events are suddenly larger than those before. One always may. */
function held(page: readonly WireEvent[]): readonly WireEvent[] {
  let bytes = 0;
  const end = page.findIndex(([, event], index) => {
    bytes += event?.length ?? 0;
    return index > 0 && bytes > 2 * pageBytesMax;
  });
  return end === -1 ? page : page.slice(0, end);
}

/** How many events are a page, if they go on as they were. */
function fitting(page: readonly WireEvent[]): number {
  const bytes = page.reduce((sum, [, event]) => sum + (event?.length ?? 0), 0);
  return Math.min(pageEventsMax, Math.max(1, Math.floor((pageBytesMax * page.length) / Math.max(1, bytes))));
}

/** Waits until there is something to read, to say, or to end. */
function grown(
  threadId: string | null,
  { growth, signal, heartbeatMillis }: Watching,
): Promise<"grown" | "idle" | "ended"> {
  return new Promise((resolve) => {
    const settle = (why: "grown" | "idle" | "ended") => {
      clearTimeout(timer);
      takeBack();
      signal.removeEventListener("abort", onAbort);
      resolve(why);
    };
    const onAbort = () => {
      settle("ended");
    };
    const timer = setTimeout(settle, heartbeatMillis, "idle");
    const takeBack = growth.onNext(threadId, () => {
      settle("grown");
    });
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  });
}

export function headOf(log: LogReader, threadId: string | null): number {
  return threadId === null ? log.head().position : log.threadHead(threadId);
}

/** Speaks of the stream itself: where it ends now, and a head that the client may keep. */
function heartbeat(log: LogReader, threadId: string | null, latest: number, upToDate: boolean): ThreadEvent {
  const { position, hash } = log.head();
  return transient(threadId, {
    case: "heartbeat",
    value: {
      latestSequence: BigInt(threadId === null ? 0 : latest),
      logEpoch: log.epoch(),
      headPosition: BigInt(position),
      headHash: Buffer.from(hash, "hex"),
      upToDate,
    },
  });
}

function gap(log: LogReader, threadId: string | null, cursor: number): ThreadEvent {
  const next = threadId === null ? 1 : log.firstReadable(threadId, cursor);
  return transient(threadId, {
    case: "streamGap",
    value: { requestedFromSequence: BigInt(cursor), nextAvailableSequence: BigInt(next) },
  });
}

/** What is sent and never stored. */
function transient(
  threadId: string | null,
  payload: NonNullable<MessageInitShape<typeof ThreadEventSchema>["payload"]>,
): ThreadEvent {
  return create(ThreadEventSchema, {
    threadId: threadId ?? "",
    occurredAt: timestampFromMs(Date.now()),
    source: EventSource.SYSTEM,
    contentTrust: ContentTrust.TRUSTED_SYSTEM,
    payload,
  });
}

function toMessage(bytes: Uint8Array, asJson: boolean): ThreadEvent {
  if (asJson) return fromBinary(ThreadEventSchema, bytes);
  // An empty message with fields unknown to it is written as just those fields. The first one's tag is one byte long.
  return {
    ...empty,
    $unknown: [{ no: firstField, wireType: WireType.LengthDelimited, data: bytes.subarray(1) }],
  };
}

/** The field that every stored event begins with, its id. */
const firstField = ThreadEventSchema.field.eventId.number;
const empty = create(ThreadEventSchema);

/** An erased event: that it was there is still told. */
function withoutPayload(log: LogReader, position: number): ThreadEvent {
  const [row] = log.readAll(position - 1, 1);
  if (row === undefined) throw new Error(`there is no event at position ${position}`);
  return create(ThreadEventSchema, {
    eventId: row.event_id,
    threadId: row.thread_id ?? "",
    sequence: BigInt(row.sequence ?? 0),
    occurredAt: timestampFromMs(Date.parse(row.occurred_at)),
    position: BigInt(row.position),
    stream: row.stream,
    version: BigInt(row.version),
  });
}
