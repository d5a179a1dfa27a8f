import type { Client } from "@connectrpc/connect";
import type { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";

/** Sees a thread from its beginning, and knows when it has seen enough. */
export class Watcher {
  readonly millis: number[] = [];
  readonly upToDate: Promise<void>;
  readonly done: Promise<void>;
  readonly #stopping = new AbortController();
  readonly #sequences: number[] = [];
  #first = 0;

  constructor(client: Client<typeof EventsService>, threadId: string, count: number) {
    let setUpToDate: () => void = () => undefined;
    this.upToDate = new Promise((resolve) => {
      setUpToDate = resolve;
    });
    this.done = this.#watch(client, threadId, count, setUpToDate);
  }

  get isGapless(): boolean {
    return this.#sequences.every((sequence, index) => sequence === this.#first + index);
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #watch(
    client: Client<typeof EventsService>,
    threadId: string,
    count: number,
    onUpToDate: () => void,
  ): Promise<void> {
    for await (const event of client.watchThread({ threadId }, { signal: this.#stopping.signal })) {
      if (event.payload.case === "heartbeat" && event.payload.value.upToDate) {
        this.#first = Number(event.payload.value.latestSequence) + 1;
        onUpToDate();
      }
      const millis = millisSince(event);
      if (millis === null || this.#first === 0) continue;
      this.millis.push(millis);
      this.#sequences.push(Number(event.sequence));
      if (this.#sequences.length === count) return;
    }
  }
}

/** Since the time that is the message's text, on the clock that all processes share; null if it is no such message. */
export function millisSince(event: { payload: { case: string | undefined; value?: unknown } }): number | null {
  const { case: type, value } = event.payload;
  const text = type === "messageCommitted" ? (value as { text: string }).text : "";
  return /^\d+$/.test(text) ? Number(process.hrtime.bigint() - BigInt(text)) / 1e6 : null;
}
