import { Code, ConnectError, type CallOptions, type Client } from "@connectrpc/connect";
import { afterEach, beforeEach } from "@jest/globals";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { text as textOf } from "node:stream/consumers";
import type { EventType } from "../../../domain/shared/index.js";
import type { Config } from "../../../infra/config/config.js";
import type { Surroundings } from "../../../infra/server/serve.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { EventsService } from "../../../proto/gen/pincer/protocol/v1/events_pb.js";
import { SystemService } from "../../../proto/gen/pincer/protocol/v1/system_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { temporaryDirectory } from "../../support/backend.js";
import { ModelServer, type SeenRequest } from "../../support/model-server.js";
import { startServer, type TestServer } from "../../support/server.js";
import { Weather } from "../../support/test-tools.js";
import { threadEvents, WatchedTurn } from "../../support/turn-client.js";
import { isTransient } from "../../support/watcher.js";

/**
 * For each test a server, a model that answers as it is told, a tool, and a phone. The server may be stopped and started
 * again on what it has; whatever is open is closed after the test.
 */
export class Stage {
  model!: ModelServer;
  weather!: Weather;
  server!: TestServer;
  phone!: Phone;
  token = "";
  #directory!: ReturnType<typeof temporaryDirectory>;

  constructor(
    private readonly overrides: Partial<Config> = {},
    private readonly surroundings: Surroundings = {},
  ) {
    beforeEach(async () => {
      this.#directory = temporaryDirectory();
      this.model = await ModelServer.listen();
      this.weather = new Weather();
      await this.#start();
      ({ token: this.token } = await this.server.pair());
      this.phone = new Phone(this.server, this.token);
    });
    afterEach(async () => {
      await this.server.stop();
      this.model.close();
      this.#directory.remove();
    });
  }

  async restart(): Promise<void> {
    await this.server.stop();
    await this.#start();
    this.phone = new Phone(this.server, this.token);
  }

  async #start(): Promise<void> {
    const model = { baseUrl: this.model.baseUrl, apiKey: "k", primary: "primary", fallback: null };
    const tools = [this.weather.tool];
    const config = { model, activeDevicesMax: 2, ...this.overrides };
    this.server = await startServer(this.#directory.path, config, { tools, ...this.surroundings });
  }

  async pairAnother(): Promise<Phone> {
    return new Phone(this.server, (await this.server.pair("tablet")).token);
  }

  /** What the model was asked in turns, and not for summaries. */
  get questions(): readonly Shown[][] {
    return this.model.requests.filter((request) => !isForSummary(request)).map(shownIn);
  }

  /** What it was asked for summaries. */
  get summaryQuestions(): readonly Shown[][] {
    return this.model.requests.filter(isForSummary).map(shownIn);
  }

  /** What the operator sees of the server. */
  async metrics(): Promise<string> {
    const request = get(`${this.server.running.url}/metrics`, { rejectUnauthorized: false, agent: false });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return textOf(response);
  }
}

/** A message as the model was shown it. */
export interface Shown {
  readonly role: string;
  readonly content: string;
}

export function isForSummary({ body }: SeenRequest): boolean {
  return String(body.messages[0]?.["content"]).startsWith("Write a summary of the conversation");
}

function shownIn({ body }: SeenRequest): Shown[] {
  // The boundary is drawn anew whenever a turn is taken up.
  const boundary = /(?<=untrusted )[0-9a-f]{24}/gu;
  return body.messages.map((message) => JSON.parse(JSON.stringify(message).replaceAll(boundary, "boundary")) as Shown);
}

type Asked = Parameters<Client<typeof TurnsService>["startTurn"]>[0];

/** A device that talks to the server. */
export class Phone {
  readonly turns: Client<typeof TurnsService>;
  readonly threads: Client<typeof ThreadsService>;
  readonly events: Client<typeof EventsService>;
  readonly system: Client<typeof SystemService>;

  constructor(server: TestServer, token: string) {
    this.turns = server.client(TurnsService, token);
    this.threads = server.client(ThreadsService, token);
    this.events = server.client(EventsService, token);
    this.system = server.client(SystemService, token);
  }

  async newThread(): Promise<string> {
    return (await this.threads.createThread({})).threadId;
  }

  begin(asked: Asked, options: CallOptions = {}): WatchedTurn {
    return new WatchedTurn(this.turns.startTurn(asked, options));
  }

  /** The events of a turn, once it has ended. */
  async turn(asked: Asked): Promise<ThreadEvent[]> {
    const turn = this.begin(asked);
    await turn.ended;
    return turn.events;
  }

  /** Sends a message, and goes away as soon as so many of its events have come; answers those. */
  async leave(asked: Asked, eventsMax = 1): Promise<ThreadEvent[]> {
    const leaving = new AbortController();
    const events: ThreadEvent[] = [];
    for await (const event of this.turns.startTurn(asked, { signal: leaving.signal })) {
      if (!isTransient(event)) events.push(event);
      if (events.length >= eventsMax) break;
    }
    leaving.abort(); // Who only stops listening is still connected.
    return events;
  }

  /** All that is in a thread now. */
  replay(threadId: string): Promise<ThreadEvent[]> {
    return threadEvents(this.events, threadId);
  }

  /** All that is in a thread, once there are so many of a kind. */
  async until(threadId: string, kind: EventType, count = 1): Promise<ThreadEvent[]> {
    const leaving = new AbortController();
    const watched = new WatchedTurn(this.events.watchThread({ threadId }, { signal: leaving.signal }));
    await watched.saw(kind, count);
    leaving.abort();
    return watched.events;
  }
}

export function kindsOf(events: readonly ThreadEvent[]): (string | undefined)[] {
  return events.map(({ payload }) => payload.case);
}

export function sequencesOf(events: readonly ThreadEvent[]): number[] {
  return events.map(({ sequence }) => Number(sequence));
}

/** The name of the code that something fails with. */
export async function codeOf(failing: Promise<unknown>): Promise<string> {
  return failing.then(
    () => "Ok",
    (error: unknown) => Code[ConnectError.from(error).code],
  );
}

/** The events of one turn among those of its thread. */
export function ofTurn(turnId: string, events: readonly ThreadEvent[]): ThreadEvent[] {
  return events.filter((event) => event.turnId === turnId);
}
