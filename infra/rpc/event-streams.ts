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
    const watching = this.#admit(threadId, context, context.signal);
    if (from > 0) this.observer.resumed();
    return watch(threadId, from, { ...watching, isSameLog: this.#isKnown(known), asJson });
  }

  /**
   * In a form that can be looked into on the way; until the client leaves, or until `left`. `begin` says from where, and is
   * asked only once it is certain that the client may have a stream.
   */
  async *openDecoded(
    threadId: string,
    context: HandlerContext,
    left: AbortSignal,
    begin: () => Promise<number>,
  ): AsyncGenerator<ThreadEvent, void, void> {
    const watching = this.#admit(threadId, context, left);
    yield* watch(threadId, await begin(), { ...watching, isSameLog: true, asJson: true });
  }

  /** Lets a client have a stream, or refuses. */
  #admit(threadId: string | null, context: HandlerContext, left: AbortSignal) {
    const { log, growth, observer, heartbeatMillis } = this;
    let cursor: number | null = null;
    const behind = () => (cursor === null ? 0 : headOf(log, threadId) - cursor);
    const signal = this.streams.open(callerOf(context), context.values.get(peerKey), left, behind);
    return {
      log,
      growth,
      signal,
      heartbeatMillis,
      onSent: (sent: number) => {
        cursor = sent;
      },
      onGap: () => {
        observer.gap();
      },
    };
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
