import { afterEach, beforeEach, expect } from "@jest/globals";
import type { DescService } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { serve, type Running, type Surroundings } from "../../../infra/server/serve.js";
import { socketFile } from "../../../infra/server/socket-file.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { EventsService } from "../../../proto/gen/pincer/protocol/v1/events_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import type { ReadModelTables } from "../../../read-models/tables.js";
import { openBackend } from "../../support/backend.js";
import { ModelServer, says, type Behaviour } from "../../support/model-server.js";
import { networkTransport, socketTransport, testConfig } from "../../support/server.js";
import { startTurn, textsIn, threadEvents, type WatchedTurn } from "../../support/turn-client.js";
import { expectLawfulThread, expectLawfulTurn } from "../../support/turn-laws.js";
import { workbench } from "../../support/workbench.js";

export const apiKey = "test-key-that-opens-nothing";

interface Options extends Surroundings {
  readonly hasFallback?: boolean;
  readonly tokensPerDay?: number;
}

type Asked = Parameters<Client<typeof TurnsService>["startTurn"]>[0];

/**
 * A real backend with a paired device, and a model that does as it is told. When a test is over, its threads must be
 * lawful, the key must be nowhere, and the server must have complained of nothing that the test has not looked at.
 */
export function turnBench() {
  const files = workbench();
  let model: ModelServer;
  let running: Running | null;
  let phone: Transport;
  let token: string;
  let options: Options;
  let written: string[];
  let looked: number;
  let threadIds: string[];

  beforeEach(async () => {
    model = await ModelServer.listen();
    [running, token, options, written, looked, threadIds] = [null, "", {}, [], 0, []];
  });
  afterEach(async () => {
    try {
      for (const threadId of threadIds) expectLawfulThread(await recorded(threadId));
      expectNoKey(filesIn(files.path));
    } finally {
      await stop();
      model.close();
    }
    expectNoKey(filesIn(files.path));
    expectNoKey([Buffer.from(written.join(""))]);
    expect(troubles()).toEqual([]);
  });

  const start = async (changes: Options = {}): Promise<void> => {
    options = { ...options, ...changes };
    const { hasFallback = true, tokensPerDay = 1_000_000, ...surroundings } = options;
    const chain = { primary: "primary", fallback: hasFallback ? "fallback" : null };
    const config = testConfig(files.path, { model: { baseUrl: model.baseUrl, apiKey, ...chain }, tokensPerDay });
    const logger = pino({ level: "trace" }, { write: (line) => written.push(line) });
    running = await serve(config, logger, surroundings);
    await running.ready;
    token ||= await pair(running.url);
    phone = networkTransport(running.url, token);
  };
  const stop = async (): Promise<void> => {
    await running?.stop();
    running = null;
  };
  const pair = async (url: string): Promise<string> => {
    const operator = createClient(AuthService, socketTransport(socketFile(files.path)));
    const { code } = await operator.createPairingCode({});
    const stranger = createClient(AuthService, networkTransport(url));
    return (await stranger.bindPairingCode({ code, deviceName: "phone" })).token;
  };
  const client = <Service extends DescService>(service: Service) => createClient(service, phone);

  const newThread = async (): Promise<string> => {
    const { threadId } = await client(ThreadsService).createThread({});
    threadIds.push(threadId);
    return threadId;
  };
  const recorded = (threadId: string) => threadEvents(client(EventsService), threadId);
  const begin = (threadId: string, userText: string, asked: Asked = {}): WatchedTurn =>
    startTurn(client(TurnsService), { ...asked, threadId, userText });
  const say = async (threadId: string, userText: string, asked: Asked = {}): Promise<ThreadEvent[]> =>
    ended(begin(threadId, userText, asked));
  /** All events of a turn, once it is over: its stream has shown what the log has. */
  const ended = async (turn: WatchedTurn): Promise<ThreadEvent[]> => {
    await turn.ended;
    expectLawfulTurn(turn.events);
    const { threadId, turnId } = turn.events[0]!;
    const inLog = (await recorded(threadId)).filter((event) => event.turnId === turnId);
    expect(turn.events.map(({ position }) => position)).toEqual(inLog.map(({ position }) => position));
    return turn.events;
  };
  /** A turn of a new thread in which the model does this; and after it one more, which must work. */
  const turnWith = async (...behaviours: Behaviour[]): Promise<ThreadEvent[]> => {
    const threadId = await newThread();
    model.will(...behaviours);
    const events = await say(threadId, "What is the weather like in Bern?");
    await goesOn(threadId);
    return events;
  };
  const goesOn = async (threadId: string): Promise<void> => {
    model.will(says("And on ", "we go."));
    expect(textsIn(await say(threadId, "Go on."))).toEqual(["And on we go."]);
  };
  /** What the read models hold, looked up while the server is away. */
  const look = async <Rows>(read: (query: Kysely<ReadModelTables>) => Promise<Rows>): Promise<Rows> => {
    await stop();
    const backend = await openBackend(files.path);
    const rows = await read(backend.store.query);
    backend.close();
    await start();
    return rows;
  };
  /** What the server has complained of since it was last asked. */
  const troubles = (): string[] => {
    const lines = written.slice(looked).map((line) => JSON.parse(line) as { level: number; msg: string });
    looked = written.length;
    return lines.filter(({ level }) => level > pino.levels.values["info"]!).map(({ msg }) => msg);
  };

  return {
    get model() {
      return model;
    },
    get url() {
      return running!.url;
    },
    get token() {
      return token;
    },
    /** Of the log. */
    get head() {
      return running!.log.head().position;
    },
    ...{ start, stop, client, newThread, recorded, begin, say, ended, turnWith, goesOn, look, troubles },
  };
}

function filesIn(directory: string): Buffer[] {
  const names = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(names.map(({ name }) => name)).toContain("log.db");
  return names.map(({ name }) => readFileSync(join(directory, name)));
}

function expectNoKey(places: readonly Buffer[]): void {
  expect(places.filter((bytes) => bytes.includes(apiKey))).toEqual([]);
}
