import { create, toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import type { Clock } from "../../../commands/ports/index.js";
import type { SqliteEventLog } from "../../../infra/event-log/index.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { DevicesService } from "../../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { RefusalDetailSchema } from "../../../proto/gen/pincer/protocol/v1/errors_pb.js";
import { WatchThreadRequestSchema } from "../../../proto/gen/pincer/protocol/v1/events_pb.js";
import { appendOf, record, write } from "../../support/appends.js";
import { openTestLog, temporaryDirectory } from "../../support/backend.js";
import { deadEnd } from "../../support/dead-end.js";
import { said, threadCreated } from "../../support/facts.js";
import { frame } from "../../support/frame.js";
import { startServer, type TestServer } from "../../support/server.js";
import { connectTo, openStream, take, untilEnd, untilOpenStreams, type Connection } from "../../support/watcher.js";

const thread = { threadId: "t" };
const streamsPerDeviceMax = 100;

let directory: ReturnType<typeof temporaryDirectory>;
let server: TestServer;
let log: SqliteEventLog;
let device: { readonly token: string; readonly deviceId: string };
let connection: Connection;
let now: number;
const clock: Clock = { now: () => now };

beforeEach(async () => {
  now = Date.now();
  directory = temporaryDirectory();
  server = await startServer(directory.path, { activeDevicesMax: 2 }, { clock });
  log = openTestLog(directory.path);
  await record(log, appendOf(write("t", "no_stream", threadCreated, said("hello"))));
  device = await server.pair();
  connection = connectTo(server.running.url, device.token);
});
afterEach(async () => {
  connection.destroy();
  log.close();
  await server.stop();
  directory.remove();
});

/** An open stream that has said all there is so far. */
async function watching(on = connection, signal?: AbortSignal): Promise<AsyncIterator<unknown>> {
  const stream = openStream(on, thread, 0, signal)[Symbol.asyncIterator]();
  await take(stream, 4); // The heartbeat, two events, and that replay has ended.
  return stream;
}

async function endOf(stream: AsyncIterator<unknown>): Promise<{ code: string; refusal: string | undefined } | null> {
  try {
    for (let next = await stream.next(); next.done !== true; next = await stream.next());
    return null;
  } catch (error) {
    const { code } = ConnectError.from(error);
    const refusal = ConnectError.from(error).findDetails(RefusalDetailSchema)[0]?.code;
    return { code: Code[code], refusal };
  }
}

describe("a stream ends", () => {
  test("when its device is revoked, by the device itself or by another, and no other stream does", async () => {
    const mine = await watching();
    const other = await server.pair("tablet");
    const otherConnection = connectTo(server.running.url, other.token);
    const theirs = await watching(otherConnection);
    await server.client(DevicesService, device.token).revokeDevice({ deviceId: device.deviceId });
    expect(await endOf(mine)).toEqual({ code: "Unauthenticated", refusal: "device_revoked" });
    await untilOpenStreams(server.running.url, 1);
    await record(log, appendOf(write("t", "any", said("still there"))));
    expect((await theirs.next()).value).toMatchObject({ sequence: 3n });
    await server.operator(DevicesService).revokeDevice({ deviceId: other.deviceId });
    expect(await endOf(theirs)).toEqual({ code: "Unauthenticated", refusal: "device_revoked" });
    await untilOpenStreams(server.running.url, 0);
    otherConnection.destroy();
  });

  test("when another device takes its place", async () => {
    const streams = [await watching(), await watching()];
    await server.pair("second");
    await server.pair("third");
    for (const stream of streams) {
      expect(await endOf(stream)).toEqual({ code: "Unauthenticated", refusal: "device_revoked" });
    }
  });

  test("when its token expires, and not when the token is replaced", async () => {
    const opened = await server.client(AuthService, device.token).rotateToken({});
    now = timestampMs(opened.expiresAt!) - 200; // Timers are real, so it must be soon.
    const rotated = connectTo(server.running.url, opened.token);
    const stream = await watching(rotated);
    await server.client(AuthService, opened.token).rotateToken({});
    await record(log, appendOf(write("t", "any", said("after rotation"))));
    expect((await stream.next()).value).toMatchObject({ sequence: 3n });
    now += 1_000;
    expect(await endOf(stream)).toEqual({ code: "Unauthenticated", refusal: "unauthenticated" });
    await untilOpenStreams(server.running.url, 0);
    rotated.destroy();
  });

  test("when the server stops, in a way that tells the client to come back", async () => {
    const stream = await watching();
    const stopped = server.stop();
    expect(await endOf(stream)).toEqual({ code: "Unavailable", refusal: undefined });
    await stopped;
  });

  test("when the client cancels it, or its connection breaks; nothing of it is left", async () => {
    const leaving = new AbortController();
    const canceled = await watching(connection, leaving.signal);
    const broken = connectTo(server.running.url, device.token);
    const lost = await watching(broken);
    await untilOpenStreams(server.running.url, 2);
    leaving.abort();
    expect(await endOf(canceled)).toMatchObject({ code: "Canceled" });
    await untilOpenStreams(server.running.url, 1);
    broken.destroy();
    expect(await endOf(lost)).not.toBeNull();
    await untilOpenStreams(server.running.url, 0);
  });
});

describe("a device", () => {
  test("has so many streams and no more, until one of them ends", async () => {
    const leaving = new AbortController();
    await watching(connection, leaving.signal);
    for (let index = 1; index < streamsPerDeviceMax; index++) await watching();
    const { error } = await untilEnd(openStream(connection, thread, 0));
    expect(error?.findDetails(RefusalDetailSchema)).toMatchObject([
      { code: "too_many_streams", facts: { streamsPerDeviceMax: String(streamsPerDeviceMax) } },
    ]);
    expect(error?.code).toBe(Code.ResourceExhausted);
    leaving.abort();
    await untilOpenStreams(server.running.url, streamsPerDeviceMax - 1);
    await watching();
  });
});

describe("a client that does not behave", () => {
  let session: ClientHttp2Session;

  beforeEach(() => {
    session = connect(server.running.url, { rejectUnauthorized: false });
    session.on("error", () => undefined);
  });
  afterEach(() => {
    session.destroy();
  });

  function request(on = session): ClientHttp2Stream {
    const stream = on.request({
      ":method": "POST",
      ":path": "/pincer.protocol.v1.EventsService/WatchThread",
      "content-type": "application/connect+proto",
      authorization: `Bearer ${device.token}`,
    });
    stream.on("error", () => undefined);
    return stream;
  }

  test("that has stopped reading is cut off when its device is revoked", async () => {
    const facts = Array.from({ length: 200 }, (_, index) => said(`${index} ${"long ".repeat(400)}`));
    await record(log, appendOf(write("t", "any", ...facts)));
    const stream = request().end(body());
    await once(stream, "response");
    await untilOpenStreams(server.running.url, 1);
    await server.operator(DevicesService).revokeDevice({ deviceId: device.deviceId });
    await untilOpenStreams(server.running.url, 0);
  });

  test("that takes nothing from the wire any more is cut off, too", async () => {
    const facts = Array.from({ length: 250 }, (_, index) => said(`${index} ${"x".repeat(60_000)}`));
    await record(log, appendOf(write("t", "any", ...facts)));
    const pipe = await deadEnd(server.running.url, 64 * 1024);
    const stopped = connect(pipe.url, { rejectUnauthorized: false, settings: { initialWindowSize: 2 ** 30 } });
    stopped.on("error", () => undefined);
    await once(stopped, "connect");
    stopped.setLocalWindowSize(2 ** 30);
    const stream = request(stopped).end(body());
    await once(stream, "response");
    await untilOpenStreams(server.running.url, 1);
    await server.operator(DevicesService).revokeDevice({ deviceId: device.deviceId });
    await untilOpenStreams(server.running.url, 0);
    stopped.destroy();
    pipe.close();
  });

  test("that asks only after its device was revoked, on a call it had begun before, gets nothing", async () => {
    const stream = request();
    stream.write(body().subarray(0, 3));
    await server.client(DevicesService, device.token).listDevices({}); // The call above has begun.
    await server.operator(DevicesService).revokeDevice({ deviceId: device.deviceId });
    stream.end(body().subarray(3));
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toContain('"code":"unauthenticated"');
    expect(Buffer.concat(chunks).toString()).not.toContain("hello");
    await untilOpenStreams(server.running.url, 0);
  });

  function body(): Buffer {
    return frame(toBinary(WatchThreadRequestSchema, create(WatchThreadRequestSchema, thread)));
  }
});
