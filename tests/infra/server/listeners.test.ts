import { afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { EventEmitter, on, once } from "node:events";
import { existsSync, renameSync, statSync, writeFileSync } from "node:fs";
import { request as request1, type IncomingMessage, type RequestOptions, type ServerResponse } from "node:http";
import { connect as connectHttp2, constants, type ClientHttp2Session, type OutgoingHttpHeaders } from "node:http2";
import { request as requestTls } from "node:https";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { pino } from "pino";
import { systemClock } from "../../../infra/ports/system-clock.js";
import { loadCertificate, type Certificate } from "../../../infra/server/certificate.js";
import type { Handler, Listener } from "../../../infra/server/connections.js";
import { defaultLimits, type Limits } from "../../../infra/server/limits.js";
import { listenPlain, listenSocket, listenTls } from "../../../infra/server/listeners.js";
import { quiet, temporaryDirectory } from "../../support/backend.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const anyPort = { host: "127.0.0.1", port: 0 };
const hourMillis = 3_600_000; // Longer than a test may take: who waits for it has failed.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const settingsFrame = "\0\0\0\x04\0\0\0\0\0";

/** "GET /" of the host "x" in a frame that ends the stream, and a frame that cancels it. */
function openAndReset(stream: number): number[] {
  const id = [0, 0, stream >> 8, stream & 0xff];
  return [0, 0, 6, 1, 5, ...id, 0x82, 0x84, 0x86, 1, 1, 0x78, 0, 0, 4, 3, 0, ...id, 0, 0, 0, constants.NGHTTP2_CANCEL];
}

let certificate: Certificate;
const logged: string[] = [];
const listeners: Listener[] = [];
const clients: { destroy(): void }[] = [];

beforeAll(async () => {
  const directory = temporaryDirectory();
  certificate = await loadCertificate({ files: null, dataDirectory: directory.path, host: "x" }, systemClock, quiet);
  directory.remove();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)));
  logged.length = 0;
});

const sayHello: Handler = (request, response) => void (response as ServerResponse).end(`HTTP/${request.httpVersion}`);
const logger = pino({ level: "debug" }, { write: (line) => logged.push(line) });
function serving(limits: Partial<Limits> = {}, handler = sayHello) {
  return { handler, limits: { ...defaultLimits, ...limits }, logger };
}
const open = async (listening: Promise<Listener>) => listeners[listeners.push(await listening) - 1]!;
const tls = (...given: Parameters<typeof serving>) => open(listenTls(anyPort, certificate, serving(...given)));
const plain = (...given: Parameters<typeof serving>) => open(listenPlain(anyPort, serving(...given)));
const unix = (path: string) => open(listenSocket(path, serving()));
const fronts = [["TLS", tls] as const, ["plain", plain] as const];

/** A handler that answers when the test says so. */
function onDemand() {
  const requests = new EventEmitter();
  const arrivals = on(requests, "request");
  const underway = new Set();
  const handler: Handler = (_request, response) => {
    underway.add(response);
    response.once("close", () => underway.delete(response));
    requests.emit("request", () => (response as ServerResponse).end("at last"));
  };
  const asked = async () => ((await arrivals.next()).value as [() => void])[0];
  return { handler, asked, underway };
}

function client<T extends { destroy(): void; on(event: "error", ignore: () => void): unknown }>(opened: T): T {
  clients.push(opened);
  opened.on("error", () => undefined);
  return opened;
}

function raw(listener: Listener, allowHalfOpen = false): Socket {
  const { hostname: host, port, pathname, protocol } = new URL(listener.url);
  const where = protocol === "unix:" ? { path: pathname } : { host, port: Number(port) };
  return client(connect({ ...where, allowHalfOpen }));
}

function rawTls({ url }: Listener, ...ALPNProtocols: string[]) {
  return client(connectTls({ ...anyPort, port: Number(new URL(url).port), ca: certificate.cert, ALPNProtocols }));
}

/** What arrives until the server hangs up. */
const allFrom = (socket: Socket) => text(socket).catch(() => "");
const get2 = (session: ClientHttp2Session, headers?: OutgoingHttpHeaders) => text(session.request(headers));

function http2(listener: Listener): ClientHttp2Session {
  if (listener.url.startsWith("https:")) return client(connectHttp2(listener.url, { ca: certificate.cert }));
  return client(connectHttp2("http://localhost", { createConnection: () => raw(listener) }));
}

async function get1(listener: Listener, options: RequestOptions = {}) {
  const { hostname: host, port, pathname, protocol } = new URL(listener.url);
  const where = protocol === "unix:" ? { socketPath: pathname } : { host, port };
  const asked = (protocol === "https:" ? requestTls : request1)({ ca: certificate.cert, ...where, ...options });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response), isReused: asked.reusedSocket };
}

describe("two protocols on one address:", () => {
  test.each(fronts)("HTTP/2, and HTTP/1.1 that keeps its connection, %s", async (_name, listen) => {
    const listener = await listen();
    expect(await get2(http2(listener))).toBe("HTTP/2.0");
    expect(await get1(listener)).toEqual({ status: 200, body: "HTTP/1.1", isReused: false });
    expect(await get1(listener)).toEqual({ status: 200, body: "HTTP/1.1", isReused: true });
  });

  test("over TLS the client's offer decides; without one it is HTTP/1.1, and a foreign one ends it", async () => {
    const listener = await tls();
    const both = rawTls(listener, "http/1.1", "h2");
    await once(both, "secureConnect");
    expect([both.authorized, both.alpnProtocol]).toEqual([true, "h2"]);
    const none = rawTls(listener);
    none.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    expect(await allFrom(none)).toContain("HTTP/1.1 200");
    expect(await allFrom(rawTls(listener, "spdy/3"))).toBe("");
    expect((await get1(listener)).body).toBe("HTTP/1.1");
  });

  test("the preface of HTTP/2 may come byte by byte", async () => {
    const slow = raw(await plain()).setNoDelay();
    for (const byte of Buffer.from(preface + settingsFrame, "latin1")) {
      await new Promise((sent) => slow.write(Buffer.of(byte), sent));
    }
    expect(((await once(slow, "data")) as [Buffer])[0][3]).toBe(settingsFrame.charCodeAt(3));
  });

  test("only loopback goes without TLS", async () => {
    for (const host of ["0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1", "example.test", "127.1", "localhost.test"]) {
      await expect(listenPlain({ host, port: 0 }, serving())).rejects.toThrow(`${host} is not a loopback address`);
    }
    expect(await get2(http2(await open(listenPlain({ host: "localhost", port: 0 }, serving()))))).toBe("HTTP/2.0");
  });

  test("an address that is taken is an error, a handler that throws is a 500", async () => {
    const listener = await plain({}, () => void JSON.parse("a bug"));
    const port = Number(new URL(listener.url).port);
    await expect(listenPlain({ ...anyPort, port }, serving())).rejects.toThrow("EADDRINUSE");
    expect((await get1(listener)).status).toBe(500);
    expect((await once(http2(listener).request(), "response"))[0]).toMatchObject({ ":status": 500 });
  });
});

describe("a stranger", () => {
  test("who talks nonsense is hung up on, and what he said is in no log", async () => {
    const [secure, open] = [await tls(), await plain()];
    const nonsense = "nonsense\r\nAuthorization: Bearer canary\r\n\r\n";
    const late = raw(open);
    late.write(preface);
    for (const socket of [raw(secure), rawTls(secure), rawTls(secure, "h2"), raw(open), late]) {
      socket.write(nonsense);
      expect(await allFrom(socket)).not.toContain("200");
    }
    for (const listener of [secure, open]) expect(await get2(http2(listener))).toBe("HTTP/2.0");
    expect(logged.length).toBeGreaterThanOrEqual(5);
    expect(logged.join("")).not.toContain("canary");
  });

  test("who says nothing, or never comes to the point, is hung up on", async () => {
    const limits = { handshakeMillisMax: 50, requestHeadMillisMax: 50 };
    const [secure, open] = [await tls(limits), await plain(limits)];
    const [half, slow] = [raw(open), raw(await plain({ requestHeadMillisMax: 50 }))];
    half.write("PRI * HT");
    slow.write("GET / HTTP/1.1\r\nhost: x\r\n");
    const silent = [raw(open), raw(secure), rawTls(secure), rawTls(secure, "h2"), half];
    await Promise.all(silent.map((socket) => allFrom(socket)));
    expect(await allFrom(slow)).toContain("HTTP/1.1 408");
  });

  test.each(fronts)("who sends too long headers is refused, %s", async (_name, listen) => {
    const listener = await listen();
    const headers = { "x-long": "x".repeat(defaultLimits.headerBytesMax) };
    expect((await get1(listener, { headers })).status).toBe(431);
    const session = http2(listener);
    // The first time, the client has not heard of the limit.
    expect((await once(session.request(headers), "response"))[0]).toMatchObject({ ":status": 431 });
    await expect(get2(session, headers)).rejects.toThrow("NGHTTP2_ENHANCE_YOUR_CALM");
    expect(await get2(session)).toBe("HTTP/2.0");
  });

  test.each(fronts)("who comes when the house is full is turned away, %s", async (_name, listen) => {
    const listener = await listen({ connectionsMax: 2 });
    const guests = [http2(listener), http2(listener)];
    for (const guest of guests) await get2(guest);
    expect(await allFrom(raw(listener))).toBe("");
    for (const guest of guests) expect(await get2(guest)).toBe("HTTP/2.0");
  });

  test("who opens more streams than allowed has no more than allowed", async () => {
    const { handler, asked, underway } = onDemand();
    const listener = await plain({ concurrentStreamsMax: 2 }, handler);
    const hasty = http2(listener);
    for (let i = 0; i < 5; i += 1) client(hasty.request());
    await new Promise((answered) => hasty.once("connect", () => hasty.ping(answered)));
    expect(underway.size).toBe(2);
    hasty.destroy();
    await Promise.all([asked(), asked()]);
    const patient = http2(listener);
    await once(patient, "remoteSettings");
    const answers = Array.from({ length: 5 }, () => get2(patient));
    for (const _ of answers) (await asked())();
    expect(await Promise.all(answers)).toEqual(answers.map(() => "at last"));
  });

  test.each([
    ["by our limit", { streamResetsPerSecondMax: 50 }, 60],
    ["by default", {}, 2_000],
  ])("who opens streams only to reset them is hung up on, %s; others go on", async (_name, limits, resets) => {
    const listener = await tls(limits, (request, ...rest) => {
      if (request.url === "/honest") sayHello(request, ...rest);
    });
    const [honest, rude] = [http2(listener), rawTls(listener, "h2")];
    rude.write(preface + settingsFrame, "latin1");
    rude.write(Buffer.from(Array.from({ length: resets }, (_, i) => openAndReset(2 * i + 1)).flat()));
    await allFrom(rude);
    expect(await get2(honest, { ":path": "/honest" })).toBe("HTTP/2.0");
  });

  test("who rests for too long is let go, but not while he waits for an answer", async () => {
    const { handler, asked } = onDemand();
    const listener = await plain({ idleConnectionMillisMax: 50 }, handler);
    const [waiting, answer] = [get2(http2(listener)), await asked()];
    expect((await once(http2(listener), "goaway"))[0]).toBe(constants.NGHTTP2_NO_ERROR);
    answer();
    expect(await waiting).toBe("at last");
  });
});

describe("close", () => {
  test.each(fronts)("lets requests in flight finish, %s", async (_name, listen) => {
    const { handler, asked } = onDemand();
    const listener = await listen({}, handler);
    const session = http2(listener);
    const told = once(session, "goaway");
    const answers = [get2(session), get1(listener).then(({ body }) => body)];
    const answerAll = [await asked(), await asked()];
    const closed = listener.close(hourMillis);
    await told;
    for (const answer of answerAll) answer();
    expect(await Promise.all(answers)).toEqual(["at last", "at last"]);
    await closed;
    await expect(get1(listener)).rejects.toThrow("ECONNREFUSED");
  });

  test.each(fronts)("cuts off those that never do, and lets them know, %s", async (_name, listen) => {
    const { handler, asked, underway } = onDemand();
    const listener = await listen({}, handler);
    const cutOff = Promise.all([
      expect(get2(http2(listener))).rejects.toThrow("NGHTTP2_INTERNAL_ERROR"),
      expect(get1(listener)).rejects.toThrow("socket hang up"),
    ]);
    await Promise.all([asked(), asked()]);
    await listener.close(20);
    await cutOff;
    expect(underway.size).toBe(0);
  });

  test.each(fronts)("lets go of the idle at once, even if they do not hang up, %s", async (_name, listen) => {
    const listener = await listen();
    expect(await get2(http2(listener))).toBe("HTTP/2.0");
    await get1(listener);
    await once(raw(listener, true), "connect");
    const stubborn = listen === tls ? rawTls(listener, "h2") : raw(listener, true);
    stubborn.write(preface + settingsFrame);
    await once(stubborn, "data");
    await Promise.all([listener.close(hourMillis), listener.close(hourMillis)]);
  });
});

describe("on a Unix socket", () => {
  test("both protocols are served to the owner alone, and the path is gone in the end", async () => {
    const path = join(bench.path, "pincer.sock");
    const listener = await unix(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect([await get2(http2(listener)), (await get1(listener)).body]).toEqual(["HTTP/2.0", "HTTP/1.1"]);
    await listener.close(hourMillis);
    expect(existsSync(path)).toBe(false);
  });

  test("what a dead server left is removed; a living server and a file are not", async () => {
    const path = join(bench.path, "pincer.sock");
    const dead = createServer().listen(`${path}.dead`);
    renameSync(`${path}.dead`, path); // Node removes only what has the name it knows.
    await new Promise((resolve) => dead.close(resolve));
    const living = await unix(path);
    await expect(unix(path)).rejects.toThrow(`${path}: another server is running`);
    expect((await get1(living)).body).toBe("HTTP/1.1");

    writeFileSync(`${path}.file`, "precious");
    await expect(unix(`${path}.file`)).rejects.toThrow("is not a socket");
    await expect(unix(join(bench.path, "x".repeat(100)))).rejects.toThrow("may have 103 bytes at most");
  });
});
