import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { bearer } from "./bad-tokens.js";
import { allMethods } from "./methods.js";
import { refusedBy } from "./protocols.js";
import { errorIn, packagePath, RawConnection } from "./raw.js";

const bench = workbench();
let server: TestServer;
let connection: RawConnection;
let authorized: { authorization: string };

beforeEach(async () => {
  server = await startServer(bench.path);
  connection = new RawConnection(server.running.url);
  authorized = bearer((await server.pair()).token);
});
afterEach(async () => {
  connection.close();
  await server.stop();
});

const json = { "content-type": "application/json" };
const listThreads = `${packagePath}.ThreadsService/ListThreads`;
const get = (path: string) => connection.send({ ":method": "GET", ":path": path });

describe("over HTTP there is", () => {
  test("whether it is alive, whether it is ready, and its figures", async () => {
    expect((await get("/healthz")).body.toString()).toBe('{"status":"alive"}\n');
    expect((await get("/readyz")).body.toString()).toBe('{"status":"ready"}\n');
    expect((await get("/metrics")).headers["content-type"]).toContain("text/plain; version=0.0.4");
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      expect((await connection.send({ ":path": path, ...json }, "{}")).status).toBe(405);
    }
  });

  test("nothing else", async () => {
    const paths = ["/", "", "/v1/threads", "/v1/", "/api", "/favicon.ico", "/healthz/", "/HEALTHZ", "//healthz"];
    const names = ["/log.db", "/../log.db", "/%2e%2e/log.db", "/metrics/../log.db", "/tls-key.pem", "/debug/pprof"];
    for (const path of [...paths.filter((path) => path !== ""), ...names]) {
      for (const method of ["GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"]) {
        const { status } = await connection.send({ ":method": method, ":path": path, ...json, ...authorized });
        expect([method, path, status]).toEqual([method, path, 404]);
      }
    }
  });

  test("the methods of the services by their exact names, and with POST alone", async () => {
    for (const { parent, name } of await allMethods()) {
      const path = `/${parent.typeName}/${name}`;
      expect((await connection.send({ ":path": path, ...json }, "{}")).status).not.toBe(404);
      for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]) {
        const { status } = await connection.send({ ":method": method, ":path": path, ...json, ...authorized });
        expect([method, path, status]).toEqual([method, path, 405]);
      }
    }
    for (const path of [
      `${packagePath}.ThreadsService/Nothing`,
      `${packagePath}.ThreadsService/listThreads`,
      `${packagePath}.ThreadsService/`,
      `${packagePath}.Nothing/ListThreads`,
      `${listThreads}/`,
      `/${listThreads}`,
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    ]) {
      expect([path, (await connection.send({ ":path": path, ...json, ...authorized }, "{}")).status]).toEqual([
        path,
        404,
      ]);
    }
  });

  test("no content type but those of the three protocols", async () => {
    const types = [
      "text/plain",
      "application/xml",
      "application/json; charset=latin1x",
      "multipart/form-data",
      "a/b",
      "",
    ];
    for (const type of [...types, "application/grpc-web-text", "application/connect+xml", "application/grpc+xml"]) {
      const { status } = await connection.send({ ":path": listThreads, "content-type": type, ...authorized }, "{}");
      expect([type, status]).toEqual([type, 415]);
    }
    const { status } = await connection.send({ ":path": listThreads, ...authorized }, "{}");
    expect(status).toBe(415);
  });

  test("no leave to read it for the pages of strangers", async () => {
    const { headers } = await connection.send(
      { ":path": listThreads, ...json, ...authorized, origin: "https://evil.test" },
      "{}",
    );
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});

describe("the figures", () => {
  const read = async () => (await get("/metrics")).body.toString();
  const valueOf = (text: string, name: string) =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length),
    );

  test("tell of commands, refusals, appends, streams, lag, gaps, reconnects and the WAL", async () => {
    await server.client(ThreadsService, authorized.authorization.slice("Bearer ".length)).createThread({});
    await refusedBy(server.client(ThreadsService).listThreads({}));
    const text = await read();
    const call = (method: string, code: string) => `pincer_rpc_calls_total{method="${method}",code="${code}"}`;
    expect(valueOf(text, call("ThreadsService/CreateThread", "ok"))).toBe(1);
    expect(valueOf(text, call("ThreadsService/ListThreads", "unauthenticated"))).toBe(1);
    expect(valueOf(text, 'pincer_refusals_total{code="unauthenticated"}')).toBe(1);
    expect(valueOf(text, 'pincer_rpc_seconds_count{method="ThreadsService/CreateThread"}')).toBe(1);
    expect(valueOf(text, "pincer_append_seconds_count")).toBeGreaterThan(0);
    expect(valueOf(text, "pincer_append_group_size_count")).toBeGreaterThan(0);
    expect(valueOf(text, "pincer_log_events_total")).toBeGreaterThan(0);
    expect(valueOf(text, "pincer_wal_bytes")).toBeGreaterThan(0);
    for (const name of [
      "open_streams",
      "replay_lag_events",
      "projection_lag_events",
      "stream_gaps_total",
      "stream_resumes_total",
    ]) {
      expect([name, valueOf(text, `pincer_${name}`)]).toEqual([name, 0]);
    }
  });

  test("say nothing of what was asked for, nor by whom", async () => {
    const token = authorized.authorization.slice("Bearer ".length);
    const { threadId } = await server.client(ThreadsService, token).createThread({});
    await connection.send({ ":path": "/canary-path", ...json }, "canary-body");
    const text = await read();
    for (const secret of [token, threadId, "canary", "127.0.0.1", "phone"]) expect(text).not.toContain(secret);
  });
});

test("errors on the wire say what, and never why it went wrong inside", async () => {
  const answer = await connection.send({ ":path": listThreads, ...json, ...authorized }, '{"pageToken": 1}');
  expect(answer.status).toBe(400);
  expect(errorIn(answer).code).toBe("invalid_argument");
  expect(answer.body.toString()).not.toMatch(/node_modules|\.ts|\.js|at /);
});
