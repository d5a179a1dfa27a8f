import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { SqliteEventLog } from "../../../infra/event-log/index.js";
import { EventsService } from "../../../proto/gen/pincer/protocol/v1/events_pb.js";
import { appendOf, record, write } from "../../support/appends.js";
import { openTestLog, temporaryDirectory } from "../../support/backend.js";
import { delta, said, threadCreated } from "../../support/facts.js";
import { bearing, startServer, type TestServer } from "../../support/server.js";
import { compareWithLog, isTransient, noDifferences, openStream, take } from "../../support/watcher.js";

let directory: ReturnType<typeof temporaryDirectory>;
let server: TestServer;
let log: SqliteEventLog;
let token: string;

beforeEach(async () => {
  directory = temporaryDirectory();
  server = await startServer(directory.path);
  log = openTestLog(directory.path);
  ({ token } = await server.pair());
});
afterEach(async () => {
  log.close();
  await server.stop();
  directory.remove();
});

const makes = { Connect: createConnectTransport, gRPC: createGrpcTransport, "gRPC-web": createGrpcWebTransport };
const versions = { Connect: ["1.1", "2"], gRPC: ["2"], "gRPC-web": ["1.1", "2"] } as const;
const cases = (Object.keys(makes) as (keyof typeof makes)[]).flatMap((protocol) =>
  versions[protocol].flatMap((version) =>
    [true, false].map((isBinary) => [protocol, isBinary ? "binary" : "JSON", version] as const),
  ),
);

describe("the same events come", () => {
  test.each(cases)("by %s in %s over HTTP/%s", async (protocol, format, httpVersion) => {
    const transport: Transport = makes[protocol]({
      baseUrl: server.running.url,
      httpVersion,
      useBinaryFormat: format === "binary",
      interceptors: [bearing(token)],
      nodeOptions: { rejectUnauthorized: false },
    });
    const events = createClient(EventsService, transport);
    const many = Array.from({ length: 150 }, (_, index) => delta(`${index} “…” \u0000 🦀`));
    await record(log, appendOf(write("t", "no_stream", threadCreated, said("long ".repeat(2_000)), ...many)));
    const leaving = new AbortController();
    const thread = openStream({ events }, { threadId: "t" }, 0, leaving.signal)[Symbol.asyncIterator]();
    const replayed = await take(thread, 154);
    await record(log, appendOf(write("t", "any", said("and live"))));
    const live = await take(thread, 1);
    const seen = [...replayed, ...live].filter((event) => !isTransient(event));
    expect(compareWithLog(seen, log, { threadId: "t" })).toEqual(noDifferences);

    const { position } = log.head();
    const whole = openStream({ events }, "log", 0, leaving.signal)[Symbol.asyncIterator]();
    const audited = (await take(whole, position + 1)).filter((event) => !isTransient(event));
    expect(compareWithLog(audited, log, "log")).toEqual(noDifferences);
    leaving.abort();
  });
});
