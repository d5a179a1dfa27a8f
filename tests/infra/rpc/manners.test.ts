import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createClient } from "@connectrpc/connect";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { serve, type Running } from "../../../infra/server/serve.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { networkTransport, testConfig } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { bearer } from "./bad-tokens.js";
import { frame } from "../../support/frame.js";
import { packagePath, RawConnection } from "./raw.js";

const bench = workbench();
const watchLog = { ":path": `${packagePath}.EventsService/WatchLog`, "content-type": "application/connect+json" };
let running: Running;
let authorized: { authorization: string };
let lines: string[];

beforeEach(async () => {
  lines = [];
  running = await serve(testConfig(bench.path), pino({ level: "warn" }, { write: (line) => lines.push(line) }));
  const auth = createClient(AuthService, networkTransport(running.url));
  authorized = bearer((await auth.bindPairingCode({ code: (await running.firstPairingCode())! })).token);
});
afterEach(() => running.stop());

/** The figures, asked for until they say so; the test's own time limit ends it otherwise. */
async function untilFigure(line: string): Promise<void> {
  const connection = new RawConnection(running.url);
  while (!(await connection.send({ ":method": "GET", ":path": "/metrics" })).body.includes(`\n${line}\n`));
  connection.close();
}

describe("a client that leaves", () => {
  test("a stream in peace, or by hanging up, or before it asked, is nobody's failure", async () => {
    const connection = new RawConnection(running.url);
    const open = () => connection.open({ ...watchLog, ...authorized });
    const reset = open();
    reset.end(frame("{}"));
    await once(reset, "data");
    const halfway = open();
    halfway.write(frame("{}").subarray(0, 3));
    const left = open();
    left.end(frame("{}"));
    await once(left, "data");
    await untilFigure("pincer_open_streams 2");
    reset.close(8);
    await untilFigure("pincer_open_streams 1");
    connection.close();
    await untilFigure("pincer_open_streams 0");
    await untilFigure('pincer_rpc_calls_total{method="EventsService/WatchLog",code="canceled"} 1');
    expect(lines).toEqual([]);
  });
});

describe("HTTP/1.1", () => {
  async function call(agent: Agent) {
    const asked = request(`${running.url}${packagePath}.ThreadsService/ListThreads`, {
      agent,
      method: "POST",
      headers: { "content-type": "application/json", ...authorized },
    }).end("{}");
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    const { localPort } = response.socket;
    await text(response);
    return { status: response.statusCode, localPort };
  }

  test("serves a hundred calls on one connection", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    const ports = new Set<number | undefined>();
    for (let calls = 0; calls < 100; calls++) {
      const { status, localPort } = await call(agent);
      expect(status).toBe(200);
      ports.add(localPort);
    }
    expect(ports.size).toBe(1);
    agent.destroy();
  });
});
