import type { HandlerContext } from "@connectrpc/connect";
import { refuse } from "../../domain/shared/index.js";
import type { ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
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
export interface Known {
  readonly knownPosition: bigint;
  readonly knownHash: Uint8Array;
}

const nothingKnown: Known = { knownPosition: 0n, knownHash: new Uint8Array() };

/** Opens streams of a thread, or of the whole log, for those who call. */
export class EventStreams {
  constructor(
    private readonly log: LogReader,
    private readonly growth: Growth,
    private readonly streams: OpenStreams,
    private readonly observer: StreamObserver,
    private readonly heartbeatMillis = heartbeatMillisDefault,
  ) {}

  /** In the form in which the client wants it. */
  open(threadId: string | null, from: number, known: Known, context: HandlerContext): AsyncGenerator<ThreadEvent> {
    const asJson = context.requestHeader.get("content-type")?.includes("json") ?? false;
    return this.#watch(threadId, from, known, context, context.signal, asJson);
  }

  /** In a form that can be looked into on the way; until the client leaves, or until `signal`. */
  openDecoded(
    threadId: string,
    from: number,
    context: HandlerContext,
    signal: AbortSignal,
  ): AsyncGenerator<ThreadEvent> {
    return this.#watch(threadId, from, nothingKnown, context, signal, true);
  }

  #watch(
    threadId: string | null,
    from: number,
    known: Known,
    context: HandlerContext,
    left: AbortSignal,
    asJson: boolean,
  ): AsyncGenerator<ThreadEvent> {
    const { log, growth, observer, heartbeatMillis } = this;
    let cursor = from;
    const behind = () => headOf(log, threadId) - cursor;
    const signal = this.streams.open(callerOf(context), context.values.get(peerKey), left, behind);
    if (from > 0) observer.resumed();
    return watch(threadId, from, {
      log,
      growth,
      signal,
      isSameLog: this.#isKnown(known),
      heartbeatMillis,
      asJson,
      onSent: (sent) => {
        cursor = sent;
      },
      onGap: () => {
        observer.gap();
      },
    });
  }

  #isKnown({ knownPosition, knownHash }: Known): boolean {
    return knownPosition === 0n || this.log.hashAt(toCount(knownPosition)) === Buffer.from(knownHash).toString("hex");
  }
}

/** uint64 counts further than we do. */
export function toCount(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw toConnectError(refuse("sequence_invalid"));
  return Number(value);
}
