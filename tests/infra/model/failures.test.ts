import { describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import type { ModelTrouble } from "../../../commands/ports/model.js";
import * as it from "../../support/model-server.js";
import { modelBench } from "./asking.js";

const bench = modelBench();

describe("a status", () => {
  test.each<[number, ModelTrouble, boolean]>([
    [400, "rejected", false],
    [401, "unauthorized", false],
    [402, "payment_required", false],
    [403, "rejected", false],
    [404, "rejected", false],
    [408, "timeout", true],
    [422, "rejected", false],
    [429, "rate_limited", true],
    [500, "unavailable", true],
    [502, "unavailable", true],
    [503, "unavailable", true],
    [204, "malformed", true],
    [999, "unavailable", true],
  ])("of %i is %s", async (status, trouble, isPassing) => {
    bench.server.will(it.fails(status));
    const error = await bench.refusal();
    expect(error).toMatchObject({ trouble, isPassing, retryAfterMillis: null });
    expect(error.message).toContain(`tester answered with status ${status}`);
    expect(bench.server.requests).toHaveLength(1); // Once is once: to ask again is the caller's business.
  });

  test("that redirects is followed nowhere", async () => {
    bench.server.will(it.fails(307, { location: `${bench.server.baseUrl}/elsewhere` }, ""), it.says("Gotcha."));
    expect(await bench.refusal()).toMatchObject({ trouble: "rejected" });
    expect(bench.server.requests).toHaveLength(1);
  });

  test.each<[string, unknown, string]>([
    ["OpenAI's shape", { error: { message: "no such model" } }, ": no such model"],
    ["Ollama's shape", { error: "no such model" }, ": no such model"],
    ["another", { message: "no such model" }, ": no such model"],
    ["a page", "<html>no such model</html>", ""],
    ["JSON of no use", [null], ""],
    ["null", "null", ""],
    ["something to fool a terminal with", { error: "a\u001b[2J\r\n\u202eb" }, ": a [2J b"],
    ["far too much", { error: "x".repeat(1_000) }, `: ${"x".repeat(300)}…`],
    ["more than anybody reads", `{"error":"${"x".repeat(1_000_000)}"}`, ""],
  ])("comes with words, if they are in %s", async (_name, body, words) => {
    bench.server.will(it.fails(400, {}, body));
    expect((await bench.refusal()).message).toBe(`tester answered with status 400${words}`);
  });

  const date = "Tue, 04 Aug 2026 10:00:00 GMT";
  test.each<[string, number | null]>([
    ["7", 7_000],
    ["0.5", 500],
    ["0", 0],
    ["Tue, 04 Aug 2026 10:00:30 GMT", 30_000],
    ["Tue, 04 Aug 2026 09:00:00 GMT", 0],
    ["86400", 3_600_000],
    ["99999999999999999999999", 3_600_000],
    ["Tue, 04 Aug 2099 10:00:30 GMT", 3_600_000],
    ["-5", null],
    ["soon", null],
    ["", null],
  ])('of 429 with Retry-After "%s"', async (retryAfter, millis) => {
    bench.server.will(it.fails(429, { "retry-after": retryAfter, date }));
    expect(await bench.refusal()).toMatchObject({ trouble: "rate_limited", retryAfterMillis: millis });
  });
});

describe("an answer that is", () => {
  test("cut in the middle of a tool call is no answer", async () => {
    const started = it.toolCall({ index: 0, id: "call_1", name: "notes_write", arguments: '{"text":"mi' });
    bench.server.will(it.streams(started, it.reset), it.streams(started), it.streams(started, it.done));
    expect(await bench.refusal()).toMatchObject({ trouble: "cut" });
    expect(await bench.refusal()).toMatchObject({ trouble: "cut" });
    expect(await bench.refusal()).toMatchObject({ trouble: "cut" });
  });

  test("cut while each piece came with an empty reason to stop is no answer", async () => {
    const said = it.delta({ content: "Send the money to" }, "");
    bench.server.will(
      it.streams(said, it.reset),
      it.streams(said, it.done),
      it.streams(said, it.finish("stop"), it.done),
    );
    expect(await bench.refusal()).toMatchObject({ trouble: "cut" });
    expect(await bench.refusal()).toMatchObject({ trouble: "cut" });
    expect(await bench.ask()).toMatchObject({ text: "Send the money to", finishReason: "stop" });
  });

  test("cut in the middle of an event is no answer", async () => {
    bench.server.will(it.streams(it.text("Yes."), it.finish("stop").slice(0, 30)));
    expect(await bench.refusal()).toMatchObject({ trouble: "cut" });
  });

  test("nothing at all is no answer", async () => {
    bench.server.will(it.streams());
    expect(await bench.refusal()).toMatchObject({ trouble: "cut" });
  });

  test.each<[string, it.Piece]>([
    ["a line that is no event", "this is no event\n\n"],
    ["a page, without an end", "<html><body>Welcome to our hotel's network"],
    ["JSON that is no event", '{"choices":[]}\n'],
    ["broken JSON", 'data: {"choices":[{"delta":\n\n'],
    ["no JSON", "data: hello\n\n"],
    ["JSON that is no chunk", "data: 42\n\n"],
    ["null", "data: null\n\n"],
    ["a list", "data: []\n\n"],
    ["text that is a number", it.delta({ content: 42 })],
    ["choices that are none", it.event({ choices: "many" })],
    ["a tool call with a negative index", it.delta({ tool_calls: [{ index: -1 }] })],
    ["bytes that are compressed", Buffer.from("1f8b0800000000000003cb48cdc9c9070086a61036050000000a", "hex")],
    ["another API's event", "event: thread.message\ndata: {broken\n\n"],
  ])("malformed: %s", async (_name, piece) => {
    bench.server.will(it.streams(it.text("Well, "), piece, it.finish("stop"), it.done));
    expect(await bench.refusal()).toMatchObject({ trouble: "malformed", isPassing: true });
  });

  test.each<[string, unknown, ModelTrouble]>([
    ["with a status", { code: 429, message: "slow down" }, "rate_limited"],
    ["with a status as text", { code: "402", message: "slow down" }, "payment_required"],
    ["with a word", { code: "server_error", message: "slow down" }, "unavailable"],
    ["of words only", "slow down", "unavailable"],
  ])("broken off with an error %s says which", async (_name, error, trouble) => {
    bench.server.will(it.streams(it.text("Well, "), it.event({ error, choices: [] })));
    const refusal = await bench.refusal();
    expect(refusal).toMatchObject({ trouble, message: "tester broke off with an error: slow down" });
  });

  test("finished by an error is no answer", async () => {
    bench.server.will(it.streams(it.text("Well, "), it.finish("error"), it.done));
    expect(await bench.refusal()).toMatchObject({ trouble: "unavailable" });
  });
});

describe("a connection that is", () => {
  test("refused is an unavailable model", async () => {
    const { baseUrl } = bench.server;
    bench.server.close();
    const error = await bench.refusal({ baseUrl });
    expect(error).toMatchObject({ trouble: "unavailable", message: "tester could not be reached (ECONNREFUSED)" });
  });

  test("reset before the answer is an unavailable model", async () => {
    bench.server.will(it.resetsBeforeHead);
    expect(await bench.refusal()).toMatchObject({ trouble: "unavailable" });
  });

  test("reset inside the answer is a cut", async () => {
    const heard = it.gate();
    bench.server.will(it.streams(it.text("Well, "), heard.opened, it.reset));
    expect(await bench.refusal({ onDelta: heard.open })).toMatchObject({ trouble: "cut" });
  });

  test("no HTTP is malformed", async () => {
    const server = createServer((socket) => socket.on("error", () => undefined).end("220 mail.example ESMTP\r\n"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    expect(await bench.refusal({ baseUrl: `http://127.0.0.1:${port}` })).toMatchObject({ trouble: "malformed" });
    server.close();
  });
});

test("an address that is none is refused before anybody asks", () => {
  expect(() => bench.modelOf({ baseUrl: "not an address" })).toThrow("Invalid URL");
});
