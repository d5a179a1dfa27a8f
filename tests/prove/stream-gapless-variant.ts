import { create, fromBinary } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { once } from "node:events";
import { createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { tail, type LogReader } from "../../infra/event-log/index.js";
import { createRpcHandler } from "../../infra/rpc/api.js";
import { ThreadEventSchema, type ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { quiet } from "../support/backend.js";
import type { Streams } from "./stream-gapless.js";

/** A thread, or the log if it is null, after a cursor. */
export type Watch = (
  log: LogReader,
  threadId: string | null,
  from: number,
  signal: AbortSignal,
) => AsyncIterable<ThreadEvent>;

/** A server with nothing but streams, and these as somebody else would write them: for controls. */
export async function serveStreams(log: LogReader, watch: Watch): Promise<Streams> {
  const sessions = new Set<ServerHttp2Session>();
  const addServices = (router: ConnectRouter) => {
    router.service(EventsService, {
      watchThread: ({ threadId, fromSequence }, { signal }) => watch(log, threadId, Number(fromSequence), signal),
      watchLog: ({ fromPosition }, { signal }) => watch(log, null, Number(fromPosition), signal),
    });
  };
  const handle = createRpcHandler([], addServices, quiet);
  const toOperator = { isOperator: true, hangUp: () => undefined };
  const server = createServer((request, response) => void handle(request, response, toOperator));
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined).once("close", () => sessions.delete(session));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: "none",
    stop: async () => {
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

/** What is there first, and only then what comes: in between, things happen that nobody is told of. */
export async function* listThenSubscribe(
  log: LogReader,
  threadId: string | null,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<ThreadEvent> {
  yield create(ThreadEventSchema, { payload: { case: "heartbeat", value: {} } });
  const listed: ThreadEvent[] = [];
  for (let cursor = from; ;) {
    const rows = threadId === null ? log.readAll(cursor, 500) : log.readThread(threadId, cursor, 500);
    if (rows.length === 0) break;
    for (const { event, position, sequence } of rows) {
      listed.push(fromBinary(ThreadEventSchema, event!));
      cursor = threadId === null ? position : sequence!;
    }
  }
  yield* listed;
  const now =
    threadId === null ? { afterPosition: log.head().position } : { threadId, afterSequence: log.threadHead(threadId) };
  for await (const rows of tail(log, now, signal))
    yield* rows.map(({ event }) => fromBinary(ThreadEventSchema, event!));
}
