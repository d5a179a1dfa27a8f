import { describe, expect, test } from "@jest/globals";
import type { ModelDelta } from "../../../commands/ports/model.js";
import * as it from "../../support/model-server.js";
import { modelBench, question } from "./asking.js";

const bench = modelBench();

const joined = (deltas: readonly ModelDelta[], kind: ModelDelta["kind"]) =>
  deltas.map((delta) => (delta.kind === kind ? delta.text : "")).join("");

describe("the question", () => {
  test("is sent as the protocol has it", async () => {
    bench.server.will(it.says("Morning."));
    await bench.ask({
      request: {
        model: "some/model",
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Good morning" },
          { role: "assistant", content: "", toolCalls: [{ id: "call_1", name: "clock", argumentsJson: "{}" }] },
          { role: "tool", toolCallId: "call_1", content: "07:00" },
          { role: "assistant", content: "It is seven.", toolCalls: [] },
        ],
        tools: [{ name: "clock", description: "Tells the time.", parameters: { type: "object", properties: {} } }],
        mayCallTools: true,
        outputTokensMax: 77,
      },
    });
    const [request] = bench.server.requests;
    expect(request!.path).toBe("POST /v1/chat/completions");
    expect(request!.body).toEqual({
      model: "some/model",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Good morning" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_1", type: "function", function: { name: "clock", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "07:00" },
        { role: "assistant", content: "It is seven." },
      ],
      tools: [
        {
          type: "function",
          function: {
            name: "clock",
            description: "Tells the time.",
            parameters: { type: "object", properties: {} },
          },
        },
      ],
      max_tokens: 77,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("names the tools that may not be called any more, and says so", async () => {
    const tools = [{ name: "clock", description: "Tells the time.", parameters: {} }];
    bench.server.will(it.says("Seven."), it.says("Seven."));
    await bench.ask({ request: { ...question, tools, mayCallTools: false } });
    await bench.ask({ request: { ...question, tools: [], mayCallTools: false } }); // There is nothing to choose from.
    const [named, without] = bench.server.requests.map(({ body }) => body);
    expect(named).toMatchObject({ tools: [{ function: { name: "clock" } }], tool_choice: "none" });
    expect(without).not.toHaveProperty("tools");
    expect(without).not.toHaveProperty("tool_choice");
  });

  test("names no tools if there are none, and no key if there is none", async () => {
    bench.server.will(it.says("Morning."));
    await bench.ask({ apiKey: "" });
    expect(bench.server.requests[0]!.body).not.toHaveProperty("tools");
    expect(bench.server.requests[0]!.headers).not.toHaveProperty("authorization");
  });

  test("says nothing about this machine, whatever is in its environment", async () => {
    const environment = { ...process.env };
    Object.assign(process.env, {
      OPENAI_ORG_ID: "org-1",
      OPENAI_PROJECT_ID: "project-1",
      OPENAI_BASE_URL: "http://127.0.0.1:9",
      OPENAI_CUSTOM_HEADERS: "Authorization: Bearer other\nX-More: yes",
    });
    try {
      bench.server.will(it.says("Morning."));
      await bench.ask({ apiKey: "key-1" });
    } finally {
      process.env = environment;
    }
    const { headers } = bench.server.requests[0]!;
    expect(headers.authorization).toBe("Bearer key-1");
    expect(Object.keys(headers).sort()).toEqual(
      ["accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host"].concat(
        "user-agent",
      ),
    );
  });

  test("goes over the connection of the one before", async () => {
    const model = bench.modelOf();
    for (const words of ["one", "two", "three"]) {
      bench.server.will(it.streams(it.text(words), it.finish("stop")));
      const answer = await model.ask(question, () => undefined, new AbortController().signal);
      expect(answer.text).toBe(words);
    }
    expect(bench.server.connections).toBe(1);
  });
});

describe("an answer", () => {
  test("comes piece by piece, each before the next is sent", async () => {
    const heard = it.gate();
    bench.server.will(it.streams(it.text("Hel"), heard.opened, it.text("lo"), it.finish("stop"), it.usage(), it.done));
    const pieces: ModelDelta[] = [];
    const answer = await bench.ask({
      onDelta: (delta) => {
        pieces.push(delta);
        heard.open();
      },
    });
    expect(pieces).toEqual([
      { kind: "text", text: "Hel" },
      { kind: "text", text: "lo" },
    ]);
    expect(answer).toEqual({
      text: "Hello",
      thinking: "",
      toolCalls: [],
      finishReason: "stop",
      usage: { inputTokens: 12, outputTokens: 3, cachedInputTokens: 0 },
    });
  });

  test.each([
    ["OpenRouter", (reasoning: string) => it.delta({ content: "", reasoning })],
    ["DeepSeek", (reasoning: string) => it.delta({ content: null, reasoning_content: reasoning })],
    ["both", (reasoning: string) => it.delta({ reasoning, reasoning_content: reasoning })],
  ])("has thoughts, as %s would send them", async (_name, thought) => {
    bench.server.will(it.streams(thought("So "), thought("be it."), it.text("Yes."), it.finish("stop"), it.done));
    const { answer, deltas } = await bench.hear();
    expect(answer).toMatchObject({ thinking: "So be it.", text: "Yes." });
    expect(deltas).toEqual([
      { kind: "thinking", text: "So " },
      { kind: "thinking", text: "be it." },
      { kind: "text", text: "Yes." },
    ]);
  });

  test("may be empty", async () => {
    bench.server.will(it.streams(it.finish("stop"), it.done));
    const { answer, deltas } = await bench.hear();
    expect(answer).toEqual({ text: "", thinking: "", toolCalls: [], finishReason: "stop", usage: null });
    expect(deltas).toEqual([]);
  });

  test("may be a refusal, which is text", async () => {
    bench.server.will(
      it.streams(it.delta({ refusal: "I'd rather " }), it.delta({ refusal: "not." }, "content_filter")),
    );
    const { answer, deltas } = await bench.hear();
    expect(answer).toMatchObject({ text: "I'd rather not.", finishReason: "content_filter" });
    expect(joined(deltas, "text")).toBe(answer.text);
  });

  test("may drip in byte by byte, through the middle of characters", async () => {
    const events = [it.text("naïve ", "😀"), it.thinking("hm…"), it.finish("stop"), it.done].flat().join("");
    const bytes = [...Buffer.from(events)].map((byte) => Uint8Array.of(byte));
    bench.server.will(it.streams(bytes));
    const { answer } = await bench.hear();
    expect(answer).toMatchObject({ text: "naïve 😀", thinking: "hm…", finishReason: "stop" });
  });

  test("is the same with carriage returns, comments and fields that nobody needs", async () => {
    const events = [
      ": OPENROUTER PROCESSING\n\n",
      "id: 7\nretry: 10\n",
      it.text("Yes."),
      ":\n",
      it.finish("stop"),
      it.done,
    ];
    bench.server.will(it.streams(events.flat().map((event) => event.replaceAll("\n", "\r\n"))));
    expect((await bench.ask()).text).toBe("Yes.");
  });

  test("is never anything but Unicode", async () => {
    const [before, after] = it.text("a|b")[0]!.split("|");
    const notUtf8 = Buffer.concat([Buffer.from(before!), Buffer.of(0xff, 0xc3), Buffer.from(after!)]);
    const halves = ['{"content":"x\\ud83d"}', '{"content":"\\ude00y\\ud800"}', '{"content":"z\\udbff"}'].map(
      (json) => `data: {"choices":[{"delta":${json}}]}\n\n`,
    );
    bench.server.will(it.streams(notUtf8, halves, it.finish("stop"), it.done));
    const { answer, deltas } = await bench.hear();
    expect(answer.text).toBe("a\uFFFD\uFFFDbx😀y\uFFFDz");
    expect(deltas.every(({ text }) => text.isWellFormed())).toBe(true);
    expect(joined(deltas, "text")).toBe(answer.text);
  });

  test("is complete with its reason for stopping, even if the server goes on holding the line", async () => {
    bench.server.will(it.streams(it.text("Yes."), it.finish("stop"), it.usage(), it.done, it.hang));
    expect(await bench.ask()).toMatchObject({ text: "Yes.", usage: { inputTokens: 12 } });
    await bench.server.abandoned(1);
  });

  test("may be ended after it is complete: the connection is not cut for that", async () => {
    const answered = it.gate();
    const ended = it.gate();
    bench.server.will(async (exchange) => {
      await it.streams(it.text("Yes."), it.finish("stop"), it.done, answered.opened)(exchange);
      await exchange.hungUp;
      ended.open();
    }, it.says("No."));
    expect((await bench.ask()).text).toBe("Yes.");
    expect((await bench.ask()).text).toBe("No."); // Meanwhile the server would have seen a cut.
    answered.open();
    await ended.opened;
    expect(bench.server.cuts).toBe(0);
  });

  test("is kept if only the count of tokens is lost with the connection", async () => {
    const heard = it.gate();
    bench.server.will(it.streams(it.delta({ content: "Yes." }, "stop"), heard.opened, it.reset));
    const answer = await bench.ask({ onDelta: heard.open });
    expect(answer).toMatchObject({ text: "Yes.", finishReason: "stop", usage: null });
  });

  test("is kept if the count of tokens does not come in time", async () => {
    bench.server.will(async ({ response, hungUp }) => {
      response.writeHead(200).write(it.delta({ content: "Yes." }, "stop")); // In one packet: no clock runs in between.
      await hungUp;
    });
    const answer = await bench.ask({ timeouts: { idleMillisMax: 50 } });
    expect(answer).toMatchObject({ text: "Yes.", finishReason: "stop", usage: null });
  });
});

describe("usage", () => {
  test("counts what was cached, and the last count is the one", async () => {
    const reported = (input: number) => ({
      prompt_tokens: input,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 80 },
    });
    bench.server.will(it.streams(it.usage(reported(90)), it.finish("stop"), it.usage(reported(100)), it.done));
    const { usage } = await bench.ask();
    expect(usage).toEqual({ inputTokens: 100, outputTokens: 5, cachedInputTokens: 80 });
  });

  test.each<[string, unknown]>([
    ["negative", { prompt_tokens: -1, completion_tokens: 3 }],
    ["fractional", { prompt_tokens: 1.5, completion_tokens: 3 }],
    ["absurd", { prompt_tokens: 1e15, completion_tokens: 3 }],
    ["a string", { prompt_tokens: "12", completion_tokens: 3 }],
    ["missing", { prompt_tokens: 12 }],
    ["more cached than read", { prompt_tokens: 1, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 2 } }],
    ["negative in the cache", { prompt_tokens: 1, completion_tokens: 3, prompt_tokens_details: { cached_tokens: -2 } }],
    ["no object", "lots"],
    ["null", null],
  ])("that cannot be is none: %s", async (_name, reported) => {
    bench.server.will(it.streams(it.text("Yes."), it.finish("stop"), it.usage(reported), it.done));
    expect(await bench.ask()).toMatchObject({ text: "Yes.", usage: null });
  });
});
