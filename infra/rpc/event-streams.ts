import type { HandlerContext } from "@connectrpc/connect";
import type { TurnPlace } from "../../commands/threads/turn-ports.js";
import { refuse, type EventType } from "../../domain/shared/index.js";
import type { ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import type { Growth, LogReader } from "../event-log/index.js";
import { callerOf, peerKey } from "./caller.js";
import { glanceAt } from "./glance.js";
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

const turnEnds: ReadonlySet<string> = new Set(["turnCompleted", "turnFailed"]);

/** Opens streams of a thread, or of the whole log, for those who call. */
export class EventStreams {
  constructor(
    private readonly log: LogReader,
    private readonly growth: Growth,
    private readonly streams: OpenStreams,
    private readonly observer: StreamObserver,
    private readonly heartbeatMillis = heartbeatMillisDefault,
  ) {}

  open(threadId: string | null, from: number, known: Known, context: HandlerContext): AsyncGenerator<ThreadEvent> {
    const watching = this.#watching(threadId, context);
    if (from > 0) this.observer.resumed();
    return watch(threadId, from, { ...watching, isSameLog: this.#isKnown(known) });
  }

  /**
   * What happens in a turn until it ends, or its thread does. `begin` says from where, and is asked only once it is certain
   * that the client may have a stream.
   */
  async *openTurn(
    { threadId, turnId }: TurnPlace,
    context: HandlerContext,
    begin: () => Promise<number>,
  ): AsyncGenerator<ThreadEvent, void, void> {
    const watching = this.#watching(threadId, context);
    const choose = (event: Uint8Array) => {
      const seen = glanceAt(event);
      const isOfTurn = seen.turnId === turnId;
      if (seen.type === "threadDeleted" || (isOfTurn && turnEnds.has(seen.type))) return "last";
      return isOfTurn ? "pass" : "skip";
    };
    yield* watch(threadId, await begin(), { ...watching, isSameLog: true, choose });
  }

  /** Lets a client wait as if it had a stream, or refuses. Aborts as the stream would. */
  admit(context: HandlerContext, left: AbortSignal, behind: () => number = () => 0): AbortSignal {
    return this.streams.open(callerOf(context), context.values.get(peerKey), left, behind);
  }

  /** Resolves when one of these may have come to the thread, or there is no point in waiting on. */
  next(threadId: string, types: ReadonlySet<EventType>, over: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const leave = () => {
        takeBack();
        over.removeEventListener("abort", leave);
        resolve();
      };
      const takeBack = this.growth.onNext(threadId, leave, types);
      over.addEventListener("abort", leave);
      if (over.aborted) leave();
    });
  }

  /** A stream in the form in which the client wants it. */
  #watching(threadId: string | null, context: HandlerContext) {
    const { log, growth, observer, heartbeatMillis } = this;
    let cursor: number | null = null;
    const behind = () => (cursor === null ? 0 : headOf(log, threadId) - cursor);
    return {
      log,
      growth,
      signal: this.admit(context, context.signal, behind),
      asJson: context.requestHeader.get("content-type")?.includes("json") ?? false,
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
