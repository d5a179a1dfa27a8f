import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { inspect } from "node:util";
import { pino } from "pino";
import { ModelError } from "../../../commands/ports/model.js";
import { keyWatch } from "../../../infra/model/key-watch.js";
import * as it from "../../support/model-server.js";
import { canaryKey, modelBench, type Asking } from "./asking.js";

const bench = modelBench();
const echo = `Bearer ${canaryKey}`;
const echoes = { "x-echo": echo, "retry-after": echo, location: `http://127.0.0.1/?key=${canaryKey}` };

/** All that is written to the console, while OPENAI_LOG asks for everything. */
let written: unknown[][];
beforeEach(() => {
  written = [];
  process.env["OPENAI_LOG"] = "debug";
  for (const level of ["debug", "log", "info", "warn", "error"] as const) {
    jest.spyOn(console, level).mockImplementation((...args) => void written.push(args));
  }
});
afterEach(() => {
  delete process.env["OPENAI_LOG"];
  jest.restoreAllMocks();
});

/** Every way in which an error may be shown. */
function shown(error: unknown): string {
  const lines: string[] = [];
  pino({ level: "trace" }, { write: (line) => lines.push(line) }).error({ err: error, error }, "failed");
  const seen: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const own = Object.getOwnPropertyNames(cause).map((name) =>
      String((cause as unknown as Record<string, unknown>)[name]),
    );
    seen.push(cause.message, cause.stack ?? "", String(cause), ...own);
  }
  const deep = inspect(error, { depth: 10, showHidden: true, getters: true });
  return [...seen, ...lines, JSON.stringify(error), deep, inspect(written, { depth: 10 })]
    .join("\n")
    .replaceAll(/\s/g, "");
}

const paths: readonly (readonly [string, it.Behaviour, Asking?])[] = [
  ...[204, 301, 400, 401, 402, 403, 404, 408, 418, 429, 500, 502, 503].map(
    (status) =>
      [`status ${status}`, it.fails(status, echoes, status === 204 ? "" : { error: { message: echo } })] as const,
  ),
  ["a status with words that are only the key", it.fails(400, {}, { error: canaryKey })],
  ["a status with part of the key", it.fails(400, {}, { error: `bad key: ${canaryKey.slice(5, 20)}…` })],
  [
    "a status with the key in capitals, spread out",
    it.fails(400, {}, { error: canaryKey.toUpperCase().replace(/./g, "$& ") }),
  ],
  ["a status with a page", it.fails(500, {}, `<html>${echo}</html>`)],
  ["an error in the stream", it.streams(it.event({ error: { code: 500, message: echo, metadata: { echo } } }))],
  ["an error in the stream, as text", it.streams(it.event({ error: echo }))],
  ["broken JSON", it.streams(`data: {"${echo}\n\n`)],
  ["JSON that begins with it", it.streams(`data: ${canaryKey}\n\n`)],
  ["broken JSON of another API", it.streams(`event: thread.x\ndata: {"${echo}\n\n`)],
  ["a line that is no event", it.streams(`${echo}\n\n`)],
  ["a chunk that is none", it.streams(it.event({ choices: echo }))],
  ["an unknown reason to finish", it.streams(it.delta({ content: [echo] }))],
  ["an answer cut off", it.streams(it.text(echo))],
  ["a reset before the head", it.resetsBeforeHead],
  ["a reset inside the answer", it.streams(it.text(echo), it.reset)],
  ["no first byte", it.hangsBeforeHead, { timeouts: { firstByteMillisMax: 20 } }],
  ["an idle answer", it.streams(it.text(echo), it.hang), { timeouts: { idleMillisMax: 20 } }],
  ["an answer without end", it.streams(it.drip(it.text(echo)[0]!)), { timeouts: { totalMillisMax: 50 } }],
  ["a connection refused", it.hangsBeforeHead, { baseUrl: "http://127.0.0.1:1/v1" }],
  ["something that is not HTTP", async ({ response }) => void response.socket?.end(`${echo}\r\n\r\n`)],
  ["too much text", it.streams(it.text(echo.repeat(20_000)))],
];

describe("the key", () => {
  test("reaches the server, so we do look for the right one", async () => {
    bench.server.will(it.says("Yes."));
    await bench.ask();
    expect(bench.server.requests[0]!.headers.authorization).toBe(echo);
    expect(written).toEqual([]);
  });

  test.each(paths)("is not shown by %s", async (_name, behaviour, asking = {}) => {
    bench.server.will(behaviour);
    const error = await bench.refusal(asking);
    expect(error.cause).toBeUndefined();
    expect(shown(error)).toContain("tester");
    expect(shown(error).toLowerCase()).not.toContain(canaryKey.slice(9, 19).toLowerCase());
    expect(written).toEqual([]);
  });

  test("is not shown by a server that does not speak TLS", async () => {
    const error = await bench.refusal({ baseUrl: bench.server.baseUrl.replace("http:", "https:") });
    expect(error.trouble).toBe("unavailable");
    expect(shown(error)).not.toContain(canaryKey.slice(9, 19));
  });

  test.each(["\n", "\r\nX-Injected: yes", "\0", "€"])("is not shown if no header can hold it: %j", async (strange) => {
    const error = await bench.refusal({ apiKey: `${canaryKey}${strange}${canaryKey}` });
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ trouble: "unauthorized", message: "tester has a key that no HTTP header can hold" });
    expect(shown(error)).not.toContain(canaryKey.slice(9, 19));
    expect(bench.server.requests).toEqual([]);
  });
});

describe("the watch for the key", () => {
  test.each<[string, string, boolean]>([
    [canaryKey, "no such model", false],
    [canaryKey, `bad key sk-or-v…${canaryKey.slice(-4)}`, false],
    [canaryKey, `bad key ${canaryKey.slice(-8)}`, true],
    ["ollama", "ollama: no such model", true],
    ["ollama", "olla", false],
    ["", "no such model", false],
  ])("of %j in %j", (key, text, isFound) => {
    expect(keyWatch(key)(text)).toBe(isFound);
  });
});
