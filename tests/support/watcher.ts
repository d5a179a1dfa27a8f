import { toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Client } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { text } from "node:stream/consumers";
import { BehaviorSubject, filter, firstValueFrom } from "rxjs";
import type { LogReader } from "../../infra/event-log/index.js";
import { ThreadEventSchema, type ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { bearing } from "./server.js";

/** An app that gets nowhere so many times in a row has found a server that is gone. */
const fruitlessAttemptsMax = 200;

/** A client of the streams on a connection of its own, which can be torn down. */
export interface Connection {
  readonly events: Client<typeof EventsService>;
  destroy(): void;
}

export function connectTo(baseUrl: string, token: string): Connection {
  const sessionManager = new Http2SessionManager(baseUrl, {}, { rejectUnauthorized: false });
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: "2",
    interceptors: [bearing(token)],
    sessionManager,
  });
  return {
    events: createClient(EventsService, transport),
    destroy: () => {
      sessionManager.abort();
    },
  };
}

export type Watched = { readonly threadId: string } | "log";

/** Opens the stream of what is watched, after a cursor. */
export function openStream(
  { events }: Pick<Connection, "events">,
  watched: Watched,
  cursor: number,
  signal?: AbortSignal,
): AsyncIterable<ThreadEvent> {
  const options = signal === undefined ? {} : { signal };
  return watched === "log"
    ? events.watchLog({ fromPosition: BigInt(cursor) }, options)
    : events.watchThread({ threadId: watched.threadId, fromSequence: BigInt(cursor) }, options);
}

export function isTransient({ payload }: ThreadEvent): boolean {
  return payload.case === "heartbeat" || payload.case === "streamGap";
}

/** The next messages of a stream, as many as are asked for; fewer if it ends. */
export async function take(stream: AsyncIterator<ThreadEvent>, count: number): Promise<ThreadEvent[]> {
  const taken: ThreadEvent[] = [];
  while (taken.length < count) {
    const next = await stream.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}

/** All that a stream says until it ends, and the error that it ends with, if it does. */
export async function untilEnd(
  stream: AsyncIterable<ThreadEvent>,
): Promise<{ messages: ThreadEvent[]; error: ConnectError | null }> {
  const messages: ThreadEvent[] = [];
  try {
    for await (const message of stream) messages.push(message);
    return { messages, error: null };
  } catch (error) {
    return { messages, error: ConnectError.from(error) };
  }
}

/** An app: follows a thread or the log, keeps what it sees, and comes back by its cursor however it was cut off. */
export class Watcher {
  /** Everything that it was ever sent, in the order in which it came. */
  readonly seen: ThreadEvent[] = [];
  resumes = -1;
  readonly #cursor = new BehaviorSubject(0);
  #isOver = false;
  #disconnect: () => void = () => undefined;

  constructor(
    private readonly connect: () => Connection,
    private readonly watched: Watched,
  ) {}

  /** Resolves after `stop`; rejects when the server has refused it for good. */
  async follow(): Promise<void> {
    for (let fruitless = 0; !this.#isOver; fruitless++) {
      const connection = this.connect();
      const leaving = new AbortController();
      this.#disconnect = () => {
        leaving.abort();
        connection.destroy();
      };
      this.resumes += 1;
      try {
        for await (const event of openStream(connection, this.watched, this.#cursor.value, leaving.signal)) {
          this.#see(event);
          fruitless = 0;
        }
      } catch (error) {
        if (!leaving.signal.aborted && (isFinal(error) || fruitless > fruitlessAttemptsMax)) throw error;
      } finally {
        connection.destroy();
      }
    }
  }

  get cursor(): number {
    return this.#cursor.value;
  }

  /** Resolves when everything up to here has been seen. */
  async reached(cursor: number): Promise<void> {
    await firstValueFrom(this.#cursor.pipe(filter((value) => value >= cursor)));
  }

  /** Tears the connection down; it comes back at once. */
  disconnect(): void {
    this.#disconnect();
  }

  stop(): void {
    this.#isOver = true;
    this.#disconnect();
  }

  #see(event: ThreadEvent): void {
    if (isTransient(event)) return;
    this.seen.push(event);
    this.#cursor.next(Number(this.watched === "log" ? event.position : event.sequence));
  }
}

/** Asks the server until it says that so many streams are open; whoever waits for it has a limit of time. */
export async function untilOpenStreams(url: string, count: number): Promise<void> {
  while ((await openStreams(url)) !== count);
}

async function openStreams(url: string): Promise<number> {
  const request = get(`${url}/metrics`, { rejectUnauthorized: false, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const figures = await text(response);
  return Number(/^pincer_open_streams (\d+)$/m.exec(figures)?.[1]);
}

function isFinal(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return ![Code.Unavailable, Code.Canceled, Code.Aborted, Code.Unknown, Code.Internal, Code.DataLoss].includes(code);
}

/** How what was seen differs from the log. */
export interface Differences {
  readonly gaps: number;
  readonly doubles: number;
  readonly reorders: number;
  /** Events whose bytes are not those that the log has. */
  readonly altered: number;
}

export const noDifferences: Differences = { gaps: 0, doubles: 0, reorders: 0, altered: 0 };

/** What was seen, against what the log holds of it; `through` is the last position that must have been seen. */
export function compareWithLog(
  seen: readonly ThreadEvent[],
  log: LogReader,
  watched: Watched,
  through = Infinity,
): Differences {
  const stored = storedIn(log, watched);
  const found = new Set<bigint>();
  let [doubles, reorders, altered] = [0, 0, 0];
  let highest = 0n;
  for (const event of seen) {
    const { position } = event;
    if (found.has(position)) doubles += 1;
    else if (position < highest) reorders += 1;
    if (position > highest) highest = position;
    found.add(position);
    if (!isSame(event, stored.get(position))) altered += 1;
  }
  const gaps = [...stored.keys()].filter((position) => position <= through && !found.has(position)).length;
  return { gaps, doubles, reorders, altered };
}

function storedIn(log: LogReader, watched: Watched): Map<bigint, Uint8Array | null> {
  const stored = new Map<bigint, Uint8Array | null>();
  for (let cursor = 0; ;) {
    const rows = log.readAll(cursor, 500);
    if (rows.length === 0) return stored;
    for (const row of rows) {
      const isWatched = watched === "log" || row.thread_id === watched.threadId;
      if (isWatched) stored.set(BigInt(row.position), row.event);
      cursor = row.position;
    }
  }
}

function isSame(event: ThreadEvent, bytes: Uint8Array | null | undefined): boolean {
  return bytes != null && Buffer.compare(toBinary(ThreadEventSchema, event), bytes) === 0;
}
