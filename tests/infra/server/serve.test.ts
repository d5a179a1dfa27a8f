import { describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { once } from "node:events";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setImmediate as breathe } from "node:timers/promises";
import { connect } from "node:tls";
import { serve } from "../../../infra/server/serve.js";
import { socketFile } from "../../../infra/server/socket-file.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { appendTo, quiet } from "../../support/backend.js";
import { cli, startCli, type RunningCli } from "../../support/cli.js";
import { said, threadCreated } from "../../support/facts.js";
import { startServer, testConfig } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** Without TLS, so that `fetch` can speak to it. */
function start(dataDirectory: string) {
  return serve(testConfig(dataDirectory, { isPlain: true }), quiet);
}

/** Asks until the answer is the one expected; the test's own time limit ends it otherwise. */
async function untilStatus(url: string, status: number): Promise<Response> {
  for (;;) {
    const response = await fetch(url);
    if (response.status === status) return response;
    await response.arrayBuffer();
  }
}

describe("the server", () => {
  test("is alive, then ready, and knows no other route", async () => {
    const running = await start(bench.path);
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
    expect(await (await untilStatus(`${running.url}/readyz`, 200)).json()).toEqual({ status: "ready" });
    expect((await fetch(`${running.url}/v1/threads`)).status).toBe(404);
    expect((await fetch(`${running.url}/healthz`, { method: "POST" })).status).toBe(405);
    await running.stop();
    await expect(fetch(`${running.url}/healthz`)).rejects.toThrow();
  });

  test("rebuilds lost read models before it is ready", async () => {
    await bench.log().append(appendTo("thread-t1", "t1", threadCreated, said("hello")));
    writeFileSync(join(bench.path, "read-models.db"), "no database".repeat(1000));
    const running = await start(bench.path);
    await untilStatus(`${running.url}/readyz`, 200);
    await running.stop();
    expect((await cli(bench.path, "projections", "verify")).stdout).toContain("no difference in 1 rows");
  });

  /** As soon as the server, which is in this process, has committed what it has begun. */
  async function changeReadModels(path: string, sql: string): Promise<void> {
    const db = new Database(join(path, "read-models.db"), { timeout: 0 });
    for (let isChanged = false; !isChanged;) {
      try {
        db.exec(sql);
        isChanged = true;
      } catch (error) {
        if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
        await breathe();
      }
    }
    db.close();
  }

  test("ends with the reason when a projection cannot go on", async () => {
    const running = await start(bench.path);
    await untilStatus(`${running.url}/readyz`, 200);
    const writer = bench.log();
    await changeReadModels(bench.path, "DROP TABLE messages");
    const ended = expect(running.ended).rejects.toThrow("projection messages failed at position 2 of the log");
    await writer.append(appendTo("s", "t1", said("hello")));
    await ended;
  });

  test("refuses an address that is taken, and lets go of its files", async () => {
    const first = await start(bench.path);
    const port = Number(new URL(first.url).port);
    const elsewhere = bench.elsewhere("b");
    const second = serve(testConfig(elsewhere, { httpAddress: { host: "127.0.0.1", port }, isPlain: true }), quiet);
    await expect(second).rejects.toThrow("EADDRINUSE");
    expect(existsSync(socketFile(elsewhere))).toBe(false);
    await first.stop();
  });

  test("refuses data that another server is running on", async () => {
    const first = await start(bench.path);
    await expect(start(bench.path)).rejects.toThrow("another server is running");
    await first.stop();
  });

  test("speaks TLS unless told otherwise, with the certificate whose fingerprint it tells", async () => {
    const server = await startServer(bench.path);
    const { url, fingerprint } = server.running;
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    await once(socket, "secureConnect");
    expect(url).toMatch(/^https:/);
    expect(socket.alpnProtocol).toBe("h2");
    expect(socket.getPeerX509Certificate()?.fingerprint256).toBe(fingerprint);
    socket.destroy();

    const { token } = await server.pair();
    expect((await server.client(ThreadsService, token).listThreads({})).items).toEqual([]);
    await server.stop();
  });

  test("answers /metrics, and says nothing there of what it holds", async () => {
    const server = await startServer(bench.path, { isPlain: true });
    const { code } = await server.operator(AuthService).createPairingCode({});
    const metrics = await (await fetch(`${server.running.url}/metrics`)).text();
    expect(metrics).toContain('pincer_rpc_calls_total{method="AuthService/CreatePairingCode",code="ok"} 1');
    expect(metrics).not.toContain(code);
    await server.stop();
  });

  test("tells devices to come by another way if it has one", async () => {
    const server = await startServer(bench.path, { publicUrl: "https://pincer.example" });
    const { serverUrl } = await server.operator(AuthService).createPairingCode({});
    expect(serverUrl).toBe("https://pincer.example");
    await server.stop();
  });
});

interface Greeting {
  readonly url: string;
  readonly code: string | null;
  readonly uri: string | null;
}

/** What the server says first on standard output; then it is told to stop. */
async function firstLine(child: RunningCli): Promise<Greeting> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    child.kill("SIGTERM");
  }
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]!) as Greeting;
}

function greeting(): Promise<Greeting> {
  return firstLine(startCli(bench.path, ["--json", "serve"], { PINCER_HTTP_ADDR: "127.0.0.1:0" }));
}

describe("pincer serve", () => {
  test("runs with nothing but a directory, and stops on SIGTERM with exit code 0", async () => {
    const data = join(bench.path, "not", "there", "yet");
    const child = startCli(data, ["serve"], { PINCER_HTTP_ADDR: "127.0.0.1:0" });
    const lines: string[] = [];
    let isTold = false;
    for await (const chunk of child.stderr) {
      lines.push(String(chunk));
      if (isTold || !lines.join("").includes('"msg":"ready"')) continue;
      isTold = true; // Once: what comes when it is nearly gone would be its death.
      child.kill("SIGTERM");
    }
    if (child.exitCode === null) await once(child, "close");
    expect(child.exitCode).toBe(0);
    expect(existsSync(join(data, "log.db"))).toBe(true);
  });

  test("greets with where it is and a code, until there is a device that could ask for one", async () => {
    const first = await greeting();
    expect(first).toMatchObject({ url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/) });
    expect(first.code).toMatch(/^[0-9A-Z]{8}$/);
    expect(first.uri).toContain(`code=${first.code ?? ""}`);

    const server = await startServer(bench.path);
    await server.pair();
    await server.stop();
    expect(await greeting()).toMatchObject({ code: null, uri: null });
  });

  test("keeps the code out of its log", async () => {
    const child = startCli(bench.path, ["--json", "serve"], {
      PINCER_HTTP_ADDR: "127.0.0.1:0",
      PINCER_LOG_LEVEL: "trace",
    });
    const [{ code }, logged] = await Promise.all([firstLine(child), text(child.stderr)]);
    expect(logged).toContain('"msg":"ready"');
    expect(logged).not.toContain(code);
  });

  test("a log of another version is named, left alone, and ends it with exit code 1", async () => {
    bench.log().close();
    const db = new Database(join(bench.path, "log.db"));
    db.pragma("user_version = 99");
    db.close();
    const { code, stderr } = await cli(bench.path, "serve");
    expect(code).toBe(1);
    expect(stderr).toContain("log.db: schema version 99 is newer than");
    rmSync(bench.path, { recursive: true });
  });

  test("nonsense in the environment is bad usage", async () => {
    const child = startCli(bench.path, ["serve"], { PINCER_HTTP_ADDR: "nowhere" });
    await once(child, "close");
    expect(child.exitCode).toBe(2);
  });
});
