import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { appendTo } from "../../support/backend.js";
import { cli, jsonLines, startCli } from "../../support/cli.js";
import { said } from "../../support/facts.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

describe("pincer rpc", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer(bench.path);
  });
  afterEach(() => server.stop());

  test("calls a method and prints its answer, for people and for programs", async () => {
    const created = await cli(bench.path, "rpc", "ThreadsService/CreateThread");
    const { threadId } = JSON.parse(created.stdout) as { threadId: string };
    expect(created.stdout).toContain(`\n  "threadId": "${threadId}"`);
    const listed = await cli(bench.path, "--json", "rpc", "ThreadsService/ListThreads", '{"page_size": 1}');
    expect(jsonLines(listed.stdout)).toMatchObject([{ items: [{ threadId }] }]);
    expect(listed.code).toBe(0);
  });

  test("reads the request from standard input", async () => {
    const { threadId } = await server.operator(ThreadsService).createThread({});
    const entry = fileURLToPath(new URL("../../../dist/infra/cli/main.js", import.meta.url));
    const args = ["--data", bench.path, "--json", "rpc", "ThreadsService/DeleteThread", "-"];
    const child = spawn(process.execPath, [entry, ...args], { env: { ...process.env, NODE_OPTIONS: "" } });
    child.stdin.end(JSON.stringify({ threadId }));
    const [stdout] = await Promise.all([text(child.stdout), once(child, "close")]);
    expect(jsonLines(stdout)).toEqual([{ threadId }]);
  });

  test("prints a stream, one message a line, until Ctrl-C", async () => {
    const { threadId } = await server.operator(ThreadsService).createThread({});
    const log = bench.log();
    const child = startCli(bench.path, ["rpc", "EventsService/WatchThread", JSON.stringify({ threadId })]);
    const events: Record<string, unknown>[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      const event = JSON.parse(line) as Record<string, unknown>;
      events.push(event);
      const isUpToDate = (event["heartbeat"] as { upToDate?: boolean } | undefined)?.upToDate === true;
      if (isUpToDate) await log.append(appendTo("s", threadId, said("live")));
      if (event["messageCommitted"] !== undefined) child.kill("SIGINT");
    }
    await once(child, "close");
    expect(child.exitCode).toBe(0);
    expect(events).toMatchObject([
      { heartbeat: { latestSequence: "1" } },
      { sequence: "1", threadCreated: {} },
      { heartbeat: { latestSequence: "1", upToDate: true } },
      { sequence: "2", messageCommitted: { text: "live" } },
    ]);
  });

  test("ends with a stream that ends, as one does that begins beyond the log", async () => {
    const { code, stdout } = await cli(bench.path, "rpc", "EventsService/WatchLog", '{"fromPosition": "99"}');
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([{ streamGap: { requestedFromSequence: "99" } }]);
  });

  test("a stream that the server breaks off fails, and says that one may come back", async () => {
    const child = startCli(bench.path, ["rpc", "EventsService/WatchLog"]);
    const stderr = text(child.stderr);
    await once(child.stdout, "data");
    await server.running.stop();
    await once(child, "close");
    expect(child.exitCode).toBe(1);
    expect(await stderr).toBe("pincer: [unavailable] the server is stopping\n");
  });

  test("what anybody wrote cannot speak to the terminal, and is still the same JSON", async () => {
    const name = "\u001b[2J\u009b\u202e\u{e0001}";
    await server.pair(name);
    const { stdout } = await cli(bench.path, "rpc", "DevicesService/ListDevices");
    expect(stdout).not.toMatch(/[^\P{C}\n]/u);
    expect(JSON.parse(stdout)).toMatchObject({ items: [{ name }] });
  });

  test("a refusal is told with its codes", async () => {
    const refused = await cli(bench.path, "rpc", "ThreadsService/GetThreadSnapshot", '{"threadId":"nope"}');
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: "pincer: [not_found] There is no such thread. (thread_not_found)\n",
    });
  });

  test("and with its facts", async () => {
    const data = bench.elsewhere("where-time-stands-still");
    const still = await startServer(data, {}, { clock: { now: () => Date.UTC(2026, 0, 1) } });
    const guess = ["rpc", "AuthService/BindPairingCode", '{"code":"00000000"}'];
    expect((await cli(data, ...guess)).stderr).toMatch(/^pincer: \[permission_denied\] .* \(pairing_code_invalid\)\n$/);
    expect((await cli(data, ...guess)).stderr).toMatch(
      /^pincer: \[resource_exhausted\] .* \(pairing_rate_limited retryAfterSeconds=1\)\n$/,
    );
    await still.stop();
  });

  test("a method that there is not is bad usage, and all that there are get listed", async () => {
    const { code, stderr } = await cli(bench.path, "rpc", "ThreadsService/Nonsense");
    const listed = stderr.match(/^ {2}\w+\/\w+$/gm)?.map((line) => line.trim());
    expect(code).toBe(2);
    expect(listed?.sort()).toEqual(declaredMethods().sort());
  });

  test.each([["not json"], ['{"pageSize":"x"}'], ['{"nonsense":1}'], ["[]"]])(
    "the request %j is bad usage",
    async (request) => {
      const { code, stderr } = await cli(bench.path, "rpc", "ThreadsService/ListThreads", request);
      expect(code).toBe(2);
      expect(stderr).toContain("this is no request of ListThreads");
    },
  );
});

/** As the .proto files declare them. */
function declaredMethods(): string[] {
  const folder = new URL("../../../proto/pincer/protocol/v1/", import.meta.url);
  return readdirSync(folder).flatMap((name) => {
    const source = readFileSync(new URL(name, folder), "utf8");
    const service = /^service (\w+)/m.exec(source)?.[1];
    return [...source.matchAll(/^ {2}rpc (\w+)/gm)].map(([, method]) => `${service}/${method}`);
  });
}
