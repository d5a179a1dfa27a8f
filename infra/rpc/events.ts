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

export function eventsService(
  log: LogReader,
  growth: Growth,
  streams: OpenStreams,
  observer: StreamObserver,
  heartbeatMillis = heartbeatMillisDefault,
): ServiceImpl<typeof EventsService> {
  const open = (threadId: string | null, from: number, context: HandlerContext) => {
    let cursor = from;
    const behind = () => headOf(log, threadId) - cursor;
    const signal = streams.open(callerOf(context), context.values.get(peerKey), context.signal, behind);
    if (from > 0) observer.resumed();
    return watch(threadId, from, {
      log,
      growth,
      signal,
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
    watchThread({ threadId, fromSequence }, context) {
      if (log.threadHead(threadId) === 0) throw toConnectError(refuse("thread_not_found"));
      return open(threadId, toCount(fromSequence), context);
    },
    watchLog({ fromPosition }, context) {
      return open(null, toCount(fromPosition), context);
    },
  };
}

/** uint64 counts further than we do. */
function toCount(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw toConnectError(refuse("sequence_invalid"));
  return Number(value);
}
