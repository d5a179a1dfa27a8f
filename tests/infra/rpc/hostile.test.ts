import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { pino } from "pino";
import { serve, type Running } from "../../../infra/server/serve.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { temporaryDirectory } from "../../support/backend.js";
import { networkTransport, testConfig } from "../../support/server.js";
import { bearer, unissuedToken } from "./bad-tokens.js";
import { codeIn } from "./hostile-answer.js";
import { hostileRequests } from "./hostile-requests.js";
import { packagePath, RawConnection } from "./raw.js";

let directory: ReturnType<typeof temporaryDirectory>;
const listThreads = { ":path": `${packagePath}.ThreadsService/ListThreads`, "content-type": "application/json" };
let running: Running;
let connection: RawConnection;
let token: string;
let lines: string[];
let printed: unknown[];
const console_ = { error: console.error, warn: console.warn, log: console.log };

beforeEach(async () => {
  lines = [];
  printed = [];
  const print = (...args: unknown[]) => printed.push(args);
  Object.assign(console, { error: print, warn: print, log: print });
  directory = temporaryDirectory();
  running = await serve(testConfig(directory.path), pino({ level: "warn" }, { write: (line) => lines.push(line) }));
  const auth = createClient(AuthService, networkTransport(running.url));
  ({ token } = await auth.bindPairingCode({ code: (await running.firstPairingCode())! }));
  connection = new RawConnection(running.url);
});

/** Whatever was done to it: it still answers the honest, has said nothing past its logger, and nothing is left open. */
afterEach(async () => {
  await createClient(ThreadsService, networkTransport(running.url, token)).createThread({});
  const { body } = await new RawConnection(running.url).send({ ":method": "GET", ":path": "/metrics" });
  expect(body.toString()).toContain("\npincer_open_streams 0\n");
  connection.close();
  await running.stop();
  directory.remove();
  Object.assign(console, console_);
  expect(printed).toEqual([]);
  expect(lines).toEqual([]);
});

describe("what no honest client sends", () => {
  test.each(hostileRequests.map((request) => [request.what, request] as const))(
    "is answered with a clear code: %s",
    async (_what, { headers, body, answers }) => {
      expect(answers).toContain(codeIn(await connection.send({ ...headers, ...bearer(token) }, body)));
      expect(connection.isOpen).toBe(true);
    },
  );

  test("ten thousand bad tokens are refused one by one", async () => {
    const refusals = new Map<string, number>();
    for (let batch = 0; batch < 100; batch++) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          connection.send({ ...listThreads, ...bearer(unissuedToken(batch * 100 + index)) }, "{}"),
        ),
      );
      for (const answer of answers.map(codeIn)) refusals.set(answer, (refusals.get(answer) ?? 0) + 1);
    }
    expect([...refusals]).toEqual([["unauthenticated", 10_000]]);
  });
});

describe("bytes that are no HTTP", () => {
  const ended = (socket: Socket) =>
    new Promise((resolve) => socket.on("error", () => undefined).once("close", resolve));
  const port = () => Number(new URL(running.url).port);

  test.each([
    ["nonsense", "\0\x01\x02 nonsense\r\n\r\n"],
    [
      "a request that smuggles",
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a header without an end", `GET / HTTP/1.1\r\nx: ${"y".repeat(40_000)}`],
    ["a chunk of no length", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
    [
      "no host",
      "POST /pincer.protocol.v1.ThreadsService/ListThreads HTTP/1.1\r\ncontent-type: application/json\r\n\r\n",
    ],
  ])("end their connection, and no other: %s", async (_what, bytes) => {
    const socket = connectTls({ port: port(), rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
    const closed = ended(socket);
    socket.write(bytes);
    socket.resume();
    await closed;
  });

  test.each([
    ["frames of no kind", Buffer.from("000004ff0000000001deadbeef", "hex")],
    ["headers on stream 0", Buffer.from("000001010500000000ff", "hex")],
    ["a frame of 16 MiB", Buffer.from("ffffff0000000000010000", "hex")],
    ["a header block of nonsense", Buffer.from("00000401050000000 1ffffffff".replace(" ", ""), "hex")],
  ])("end their HTTP/2 session, or are passed over: %s", async (_what, bytes) => {
    const socket = connectTls({ port: port(), rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    const closed = ended(socket);
    socket.write(
      Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.from("000000040000000000", "hex"), bytes]),
    );
    socket.resume();
    socket.end();
    await closed;
  });

  test("that are no TLS end their connection", async () => {
    const socket = connect(port(), "127.0.0.1");
    const closed = ended(socket);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.resume();
    await closed;
  });
});
