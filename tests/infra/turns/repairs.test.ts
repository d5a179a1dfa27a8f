import { describe, expect, test } from "@jest/globals";
import { PolicyDecision } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import * as it from "../../support/model-server.js";
import { Weather, weatherIn } from "../../support/test-tools.js";
import { callsIn, textsIn, valuesOf } from "../../support/turn-client.js";
import { turnBench } from "./turn-bench.js";

const bench = turnBench();
const wrong = it.calls({ id: "call_1", name: "weather_look_up", arguments: '{"town":"Bern"}' });
const right = it.calls(weatherIn("Bern"));
const calling = (args: string) => it.calls({ id: "call_1", name: "weather_look_up", arguments: args });
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const piecesOf = (text: string, length: number) => text.match(new RegExp(`[^]{1,${length}}`, "gu"))!;
const fence = (json: string) => `\`\`\`json\n${json}\n\`\`\``;

describe("an answer that cannot be used", () => {
  test("is shown to the model with what is wrong, and may be said better", async () => {
    const weather = new Weather();
    await bench.start({ tools: [weather.tool] });
    const events = await bench.turnWith(wrong, right, it.says("Sunny."));
    expect(callsIn(events)).toEqual(["primary finished", "primary finished", "primary finished"]);
    const [first] = valuesOf(events, "modelCallFinished");
    const [repair, ...others] = valuesOf(events, "modelOutputRepairAttempted");
    expect(repair).toMatchObject({ repairAttempt: 1, fallbackModelUsed: false, callId: first!.callId });
    expect(repair!.reason).toContain("weather_look_up");
    expect(repair!.output).toContain("town");
    expect(others).toEqual([]);
    const [said, complaint] = bench.model.requests[1]!.body.messages.slice(-2);
    expect(said).toEqual({ role: "assistant", content: repair!.output });
    expect(complaint).toMatchObject({ role: "user", content: expect.stringContaining(repair!.reason) });
    expect(valuesOf(events, "toolCallPlanned")).toMatchObject([{ args: { city: "Bern" }, step: 1 }]);
    // What was repaired is of no more interest to the next step.
    expect(JSON.stringify(bench.model.requests[2]!.body.messages)).not.toContain("town");
    expect(textsIn(events)).toEqual(["Sunny."]);
    expect(weather.runs).toBe(1);
  });

  test("twice is for the other model", async () => {
    const weather = new Weather();
    await bench.start({ tools: [weather.tool] });
    const events = await bench.turnWith(wrong, wrong, right, it.says("Sunny."));
    expect(callsIn(events)).toEqual(["primary", "primary", "fallback", "fallback"].map((model) => `${model} finished`));
    expect(valuesOf(events, "modelOutputRepairAttempted")).toMatchObject([
      { repairAttempt: 1, fallbackModelUsed: false },
      { repairAttempt: 2, fallbackModelUsed: true },
    ]);
    expect(textsIn(events)).toEqual(["Sunny."]);
  });

  test("three times is the end, and every attempt is there to be seen", async () => {
    const weather = new Weather();
    await bench.start({ tools: [weather.tool] });
    const events = await bench.turnWith(wrong, wrong, wrong);
    expect(callsIn(events)).toEqual(["primary finished", "primary finished", "fallback finished"]);
    const calls = valuesOf(events, "modelCallStarted").map(({ callId }) => callId);
    expect(valuesOf(events, "modelOutputRepairAttempted")).toMatchObject([
      { repairAttempt: 1, fallbackModelUsed: false, callId: calls[0], reason: expect.stringContaining("city") },
      { repairAttempt: 2, fallbackModelUsed: true, callId: calls[1], reason: expect.stringContaining("city") },
    ]);
    const [failed] = valuesOf(events, "turnFailed");
    expect(failed).toMatchObject({
      code: "FAILED_MODEL_OUTPUT",
      message: "The model's answer could not be used.",
      retryable: true,
    });
    const whyNot = valuesOf(events, "modelCallFinished").map(({ unusableReason }) => unusableReason);
    expect(whyNot).toEqual(Array.from({ length: 3 }, () => expect.stringContaining("city")));
    expect(valuesOf(events, "toolCallPlanned")).toEqual([]);
    expect(weather.runs).toBe(0);
  });

  test("twice is the end if there is no other model", async () => {
    const weather = new Weather();
    await bench.start({ hasFallback: false, tools: [weather.tool] });
    const events = await bench.turnWith(wrong, wrong);
    expect(callsIn(events)).toEqual(["primary finished", "primary finished"]);
    expect(valuesOf(events, "modelOutputRepairAttempted")).toMatchObject([{ repairAttempt: 1 }]);
    expect(valuesOf(events, "turnFailed")).toMatchObject([{ code: "FAILED_MODEL_OUTPUT" }]);
  });

  test("may be said better by a model that was down in between, and again in the next step", async () => {
    const weather = new Weather();
    await bench.start({ tools: [weather.tool] });
    const down = it.fails(503, { "retry-after": "0" });
    const events = await bench.turnWith(wrong, down, down, right, it.says(""), down, it.says("Sunny."));
    expect(new Set(valuesOf(events, "modelCallStarted").map(({ model }) => model))).toEqual(new Set(["primary"]));
    expect(valuesOf(events, "modelOutputRepairAttempted").map(({ repairAttempt }) => repairAttempt)).toEqual([1, 1]);
    expect(textsIn(events)).toEqual(["Sunny."]);
  });

  test.each<[string, string, it.Behaviour]>([
    ["nothing", "empty", it.streams(it.finish("stop"), it.usage(), it.done)],
    ["blanks", "empty", it.says(" \n", "\t ")],
    ["a hundred kilobytes of text", "longer than 65536 bytes", it.says(...piecesOf("x".repeat(100_000), 1_000))],
    ["arguments that are cut off", "not a JSON object", calling('{"city":"Be')],
    ["arguments that are a list", "not a JSON object", calling('["Bern"]')],
    ["arguments that are null", "not a JSON object", calling("null")],
    ["an argument too many", "weather_look_up", calling('{"city":"Bern","force":true}')],
    ["an argument of another kind", "weather_look_up", calling('{"city":{"name":"Bern"}}')],
    ["no arguments", "weather_look_up", calling("")],
    ["arguments nested too deeply", "larger than allowed", calling(nested(10_000))],
    ["arguments of a megabyte, nearly", "larger than allowed", calling(`{"city":"${"x".repeat(1_000_000)}"}`)],
    ["a call without a name", "names no tool", it.calls({ id: "call_1", name: "", arguments: "{}" })],
    ["two calls with the same id", "same id", it.calls(weatherIn("Bern"), weatherIn("Basel"))],
    [
      "more calls than may be",
      "11 calls",
      it.calls(...Array.from({ length: 11 }, (_, at) => weatherIn("Bern", `${at}`))),
    ],
    ["an object with an unknown field", "proposed_action", it.says('{"assistant_message":"","proposed_action":[]}')],
    ["an object whose action is none", "args", it.says('{"assistant_message":"","proposed_actions":[{"tool":"x"}]}')],
    [
      "an object whose action nests too deeply",
      "larger than allowed",
      it.says(`{"assistant_message":"","proposed_actions":[{"tool":"x","args":${nested(1_000)}}]}`),
    ],
  ])("may be %s", async (_name, why, behaviour) => {
    const weather = new Weather();
    await bench.start({ tools: [weather.tool] });
    const events = await bench.turnWith(behaviour, it.says("Better."));
    const repairs = valuesOf(events, "modelOutputRepairAttempted");
    expect(repairs).toMatchObject([{ repairAttempt: 1, reason: expect.stringContaining(why) }]);
    expect(repairs[0]!.output.length).toBeLessThanOrEqual(12_000);
    expect(callsIn(events)).toEqual(["primary finished", "primary finished"]);
    expect(textsIn(events)).toEqual(["Better."]);
    expect(valuesOf(events, "toolCallPlanned")).toEqual([]);
    expect(weather.runs).toBe(0);
  });
});

describe("a model without tool calling", () => {
  const wanted = { tool: "weather_look_up", identity: null, args: { city: "Bern" }, justification: "You asked." };
  const object = JSON.stringify({ assistant_message: "Let me see.", proposed_actions: [wanted] }, null, 2);

  test.each([
    ["an object", object],
    ["an object in a fence", fence(object)],
    ["an object between blank lines", `\n\n  ${object}\n`],
  ])("may say what it wants as %s", async (_name, said) => {
    const weather = new Weather();
    await bench.start({ tools: [weather.tool] });
    const events = await bench.turnWith(it.says(...piecesOf(said, 9)), it.says("Sunny."));
    expect(textsIn(events)).toEqual(["Let me see.", "Sunny."]);
    expect(valuesOf(events, "toolCallPlanned")).toMatchObject([
      { toolName: "weather_look_up", args: { city: "Bern" }, justification: "You asked." },
    ]);
    expect(valuesOf(events, "assistantTextDelta").map(({ delta }) => delta)).toEqual(["Let me see.", "Sunny."]);
    expect(weather.runs).toBe(1);
  });

  test.each([
    ["an object", '{"assistant_message":"Good morning."}'],
    ["an object in a fence", fence('{"assistant_message":"Good morning.","proposed_actions":[]}')],
  ])("may say that it wants nothing as %s", async (_name, said) => {
    await bench.start();
    const events = await bench.turnWith(it.says(said));
    expect(textsIn(events)).toEqual(["Good morning."]);
  });

  test.each([
    ["another object", '{"weather":"sunny"}'],
    ["a fence with another object", fence('{"weather":"sunny"}')],
    ["one among words", 'Say {"assistant_message":"Good morning."} to everyone'],
    ["a fence with something else", "```ts\nconst sunny = true;\n```"],
  ])("may write %s, and that is text", async (_name, said) => {
    await bench.start();
    const events = await bench.turnWith(it.says(...piecesOf(said, 1)));
    expect(textsIn(events)).toEqual([said]);
    expect(valuesOf(events, "modelOutputRepairAttempted")).toEqual([]);
  });
});

test.each([
  ["breaks off", '{"assistant_message":"Good'],
  ["breaks off in a fence", '```json\n{"assistant_message":"Good'],
  ["has something behind it", '{"assistant_message":"Good"} Did you like it?'],
])("an object that %s is none: the model may say it better", async (_name, said) => {
  await bench.start();
  const events = await bench.turnWith(it.says(...piecesOf(said, 1)), it.says("Good morning."));
  expect(textsIn(events)).toEqual(["Good morning."]);
  expect(valuesOf(events, "modelOutputRepairAttempted")).toMatchObject([{ output: said, repairAttempt: 1 }]);
  expect(valuesOf(events, "assistantTextDelta").map(({ delta }) => delta)).toEqual(["Good morning."]);
});

describe("arguments", () => {
  test("may be nested, but not without end, also of a tool that nobody knows", async () => {
    await bench.start();
    const deep = nested(20);
    const events = await bench.turnWith(
      it.calls({ id: "call_1", name: "rocket_launch", arguments: deep }),
      it.says("I cannot."),
    );
    expect(valuesOf(events, "toolCallPlanned")).toMatchObject([
      { toolName: "rocket_launch", args: JSON.parse(deep) as unknown },
    ]);
    expect(valuesOf(events, "policyDecisionMade")).toMatchObject([{ decision: PolicyDecision.BLOCKED }]);
  });
});
