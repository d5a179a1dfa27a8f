import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { refuse } from "../../domain/shared/index.js";
import type { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import type { Growth, LogReader } from "../event-log/index.js";
import { callerOf, peerKey } from "./caller.js";
import type { OpenStreams } from "./open-streams.js";
import { toConnectError } from "./refusal.js";
import { headOf, heartbeatMillisDefault, watch } from "./watch.js";

/** What streams do, for whoever counts it. */
export interface StreamObserver {
  resumed(): void;
  gap(): void;
}

/** A head that a client has kept. */
interface Known {
  readonly knownPosition: bigint;
  readonly knownHash: Uint8Array;
}

export function eventsService(
  log: LogReader,
  growth: Growth,
  streams: OpenStreams,
  observer: StreamObserver,
  heartbeatMillis = heartbeatMillisDefault,
): ServiceImpl<typeof EventsService> {
  const isKnown = ({ knownPosition, knownHash }: Known) =>
    knownPosition === 0n || log.hashAt(toCount(knownPosition)) === Buffer.from(knownHash).toString("hex");
  const open = (threadId: string | null, from: number, known: Known, context: HandlerContext) => {
    let cursor = from;
    const behind = () => headOf(log, threadId) - cursor;
    const signal = streams.open(callerOf(context), context.values.get(peerKey), context.signal, behind);
    if (from > 0) observer.resumed();
    return watch(threadId, from, {
      log,
      growth,
      signal,
      isSameLog: isKnown(known),
      heartbeatMillis,
      asJson: context.requestHeader.get("content-type")?.includes("json") ?? false,
      onSent: (sent) => {
        cursor = sent;
      },
      onGap: () => {
        observer.gap();
      },
    });
  };
  return {
    watchThread({ threadId, fromSequence, ...known }, context) {
      if (log.threadHead(threadId) === 0) throw toConnectError(refuse("thread_not_found"));
      return open(threadId, toCount(fromSequence), known, context);
    },
    watchLog({ fromPosition, ...known }, context) {
      return open(null, toCount(fromPosition), known, context);
    },
  };
}

/** uint64 counts further than we do. */
function toCount(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw toConnectError(refuse("sequence_invalid"));
  return Number(value);
}
