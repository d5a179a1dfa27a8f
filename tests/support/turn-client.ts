import type { Client } from "@connectrpc/connect";
import { filter, firstValueFrom, ReplaySubject, take } from "rxjs";
import type { EventType, PayloadOf } from "../../domain/shared/index.js";
import type { ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import type { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import type { TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { isTransient } from "./watcher.js";

/** A turn as a client sees it: all that its stream says about it, from its first event to its last. */
export class WatchedTurn {
  readonly events: ThreadEvent[] = [];
  /** Resolves when the stream has ended; rejects as it does. */
  readonly ended: Promise<void>;
  readonly #coming = new ReplaySubject<ThreadEvent>();

  constructor(stream: AsyncIterable<ThreadEvent>) {
    this.ended = this.#follow(stream);
    this.ended.catch(() => undefined); // Whoever wants to know awaits it.
  }

  /** Resolves when so many of a kind have come; rejects if the stream ends before that. */
  async saw(kind: EventType, count = 1): Promise<void> {
    const wanted = this.#coming.pipe(filter(({ payload }) => payload.case === kind));
    await firstValueFrom(
      wanted.pipe(
        filter((_, index) => index + 1 === count),
        take(1),
      ),
    );
  }

  async #follow(stream: AsyncIterable<ThreadEvent>): Promise<void> {
    try {
      for await (const event of stream) {
        if (isTransient(event)) continue;
        this.events.push(event);
        this.#coming.next(event);
      }
      this.#coming.complete();
    } catch (error) {
      this.#coming.error(error);
      throw error;
    }
  }
}

type Asked = Parameters<Client<typeof TurnsService>["startTurn"]>[0];

export function startTurn(turns: Client<typeof TurnsService>, asked: Asked): WatchedTurn {
  return new WatchedTurn(turns.startTurn(asked));
}

/** Everything that the log has of a thread now. */
export async function threadEvents(events: Client<typeof EventsService>, threadId: string): Promise<ThreadEvent[]> {
  const found: ThreadEvent[] = [];
  const leaving = new AbortController();
  for await (const event of events.watchThread({ threadId }, { signal: leaving.signal })) {
    if (!isTransient(event)) found.push(event);
    if (event.payload.case === "heartbeat" && event.payload.value.upToDate) break;
  }
  leaving.abort(); // Who only stops listening is still connected.
  return found;
}

/** What the events of one kind say. */
export function valuesOf<Kind extends EventType>(events: readonly ThreadEvent[], kind: Kind): PayloadOf<Kind>[] {
  return events.flatMap(({ payload }) => (payload.case === kind ? [payload.value as PayloadOf<Kind>] : []));
}

/** How a turn ended, in one word: "completed", or why it failed. */
export function endOf(events: readonly ThreadEvent[]): string {
  const [failed] = valuesOf(events, "turnFailed");
  if (failed !== undefined) return failed.code;
  return valuesOf(events, "turnCompleted").length > 0 ? "completed" : "not at all";
}

/** Who was asked, and what came of it, in order: "primary finished", "fallback rate_limited". */
export function callsIn(events: readonly ThreadEvent[]): string[] {
  const finished = valuesOf(events, "modelCallFinished");
  const failed = valuesOf(events, "modelCallFailed");
  return valuesOf(events, "modelCallStarted").map(({ callId, model }) => {
    const isFinished = finished.some((call) => call.callId === callId);
    return `${model} ${isFinished ? "finished" : failed.find((call) => call.callId === callId)?.reason}`;
  });
}

/** What the model has said in the end of each step. */
export function textsIn(events: readonly ThreadEvent[]): string[] {
  return valuesOf(events, "assistantMessageCommitted").map(({ fullText }) => fullText);
}

/** The pieces of the answer of one call. */
export function deltasIn(events: readonly ThreadEvent[], segmentId: string): string[] {
  return valuesOf(events, "assistantTextDelta")
    .filter((piece) => piece.segmentId === segmentId)
    .map(({ delta }) => delta);
}
