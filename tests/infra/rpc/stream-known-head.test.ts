import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import type { Heartbeat } from "../../../proto/gen/pincer/protocol/v1/stream_events_pb.js";
import { EventsService, type WatchLogRequestSchema } from "../../../proto/gen/pincer/protocol/v1/events_pb.js";
import { temporaryDirectory } from "../../support/backend.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { networkTransport, startServer, type TestServer } from "../../support/server.js";

let directory: ReturnType<typeof temporaryDirectory>;
let server: TestServer;
let token: string;

beforeEach(async () => {
  directory = temporaryDirectory();
  server = await startServer(directory.path);
  ({ token } = await server.pair());
});
afterEach(async () => {
  await server.stop();
  directory.remove();
});

/** What a watcher of the whole log hears first. */
async function firstOf(request: MessageInitShape<typeof WatchLogRequestSchema>) {
  const client = createClient(EventsService, networkTransport(server.running.url, token));
  for await (const { payload } of client.watchLog(request)) return payload;
  throw new Error("the stream ended without a word");
}

async function keepHead(): Promise<Heartbeat> {
  const payload = await firstOf({});
  if (payload.case !== "heartbeat") throw new Error(`a stream begins with ${payload.case}`);
  return payload.value;
}

test("a cursor is good as long as the log still has the head that the client kept", async () => {
  const { headPosition, headHash } = await keepHead();
  await createClient(ThreadsService, networkTransport(server.running.url, token)).createThread({});
  const kept = { fromPosition: headPosition, knownPosition: headPosition, knownHash: headHash };
  expect((await firstOf(kept)).case).toBe("heartbeat");
});

test("a log that was restored and has grown past the cursor is found out", async () => {
  const { headPosition } = await keepHead();
  const another = { fromPosition: headPosition, knownPosition: headPosition, knownHash: new Uint8Array(32) };
  expect((await firstOf(another)).case).toBe("streamGap");
  expect((await firstOf({ ...another, knownPosition: headPosition + 100n })).case).toBe("streamGap");
});
