import { describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { once } from "node:events";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "../../../infra/server/serve.js";
import { appendTo, quiet } from "../../support/backend.js";
import { cli, startCli } from "../../support/cli.js";
import { said, threadCreated } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

const anyPort = { host: "127.0.0.1", port: 0 };

function start(dataDirectory: string) {
  return serve({ dataDirectory, httpAddress: anyPort, logLevel: "silent" }, quiet);
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

  test("ends with the reason when a projection cannot go on", async () => {
    const running = await start(bench.path);
    await untilStatus(`${running.url}/readyz`, 200);
    const writer = bench.log();
    const db = new Database(join(bench.path, "read-models.db"));
    db.exec("DROP TABLE messages");
    db.close();
    await writer.append(appendTo("s", "t1", said("hello")));
    await expect(running.ended).rejects.toThrow("projection messages failed at position 1 of the log");
  });

  test("refuses an address that is taken, and lets go of its files", async () => {
    const first = await start(bench.path);
    const port = Number(new URL(first.url).port);
    const second = serve(
      { dataDirectory: bench.elsewhere("b"), httpAddress: { host: "127.0.0.1", port }, logLevel: "silent" },
      quiet,
    );
    await expect(second).rejects.toThrow("EADDRINUSE");
    await first.stop();
  });
});

describe("pincer serve", () => {
  test("runs with nothing but a directory, and stops on SIGTERM with exit code 0", async () => {
    const data = join(bench.path, "not", "there", "yet");
    const child = startCli(data, ["serve"], { PINCER_HTTP_ADDR: "127.0.0.1:0" });
    const lines: string[] = [];
    for await (const chunk of child.stderr) {
      lines.push(String(chunk));
      if (lines.join("").includes('"msg":"ready"')) child.kill("SIGTERM");
    }
    if (child.exitCode === null) await once(child, "close");
    expect(child.exitCode).toBe(0);
    expect(existsSync(join(data, "log.db"))).toBe(true);
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
