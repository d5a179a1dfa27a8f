import type { ServiceImpl } from "@connectrpc/connect";
import { refuse } from "../../domain/shared/index.js";
import type { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import type { LogReader } from "../event-log/index.js";
import { toCount, type EventStreams } from "./event-streams.js";
import { toConnectError } from "./refusal.js";

export function eventsService(log: LogReader, streams: EventStreams): ServiceImpl<typeof EventsService> {
  return {
    watchThread({ threadId, fromSequence, ...known }, context) {
      if (log.threadHead(threadId) === 0) throw toConnectError(refuse("thread_not_found"));
      return streams.open(threadId, toCount(fromSequence), known, context);
    },
    watchLog({ fromPosition, ...known }, context) {
      return streams.open(null, toCount(fromPosition), known, context);
    },
  };
}
