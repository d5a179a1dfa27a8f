import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { JsonObject } from "@bufbuild/protobuf";
import { callsPerStepMax, normalise } from "../../../domain/threads/index.js";
import { asRead } from "../../support/facts.js";
import { growthOf, linearGrowthMax } from "../../support/growth.js";

const said = (text: string) => ({ text, toolCalls: [] });
const called = (...calls: readonly [id: string, name: string, argumentsJson: string][]) => ({
  text: "",
  toolCalls: calls.map(([id, name, argumentsJson]) => ({ id, name, argumentsJson })),
});
const valid = (text: string, ...calls: readonly object[]) => ({ outcome: "valid", text, calls });
const specified = (actions: unknown, message: unknown = "Done.") =>
  JSON.stringify({ assistant_message: message, proposed_actions: actions });

describe("what a model says", () => {
  test("is a text", () => {
    expect(normalise(said("Good morning."))).toEqual(valid("Good morning."));
  });

  test("is calls of tools, with or without a text", () => {
    const output = { ...called(["1", "notes_write", '{"text":"tea"}'], ["2", "now", ""]), text: "One moment." };
    expect(normalise(output)).toEqual(
      valid(
        "One moment.",
        { id: "1", tool: "notes_write", args: { text: "tea" }, identity: null, justification: "" },
        { id: "2", tool: "now", args: {}, identity: null, justification: "" },
      ),
    );
  });

  test("is the object of the specification, also in a fence", () => {
    const action = { tool: "gmail_send", identity: "bot", args: { to: "a@example.com" }, justification: "asked to" };
    const expected = valid("Done.", { id: "action_1", ...action });
    expect(normalise(said(specified([action])))).toEqual(expected);
    expect(normalise(said(`\n\`\`\`json\n${specified([action])}\n\`\`\`\n`))).toEqual(expected);
    expect(normalise(said('{"assistant_message":"Hello"}'))).toEqual(valid("Hello"));
  });

  test("is only a text, if it is some other JSON", () => {
    expect(normalise(said('{"a":1}'))).toEqual(valid('{"a":1}'));
    expect(normalise(said("[1,2]"))).toEqual(valid("[1,2]"));
  });
});

describe("what cannot be understood is said to be so:", () => {
  test.each([
    ["nothing", said(" \n "), "empty"],
    ["an empty message without actions", said(specified([], "")), "empty"],
    ["arguments that are no JSON", called(["1", "t", '{"a":']), "arguments"],
    ["arguments that are a list", called(["1", "t", "[1]"]), "arguments"],
    ["a call of nothing", called(["1", "", "{}"]), "names no tool"],
    ["two calls with one id", called(["1", "t", "{}"], ["1", "t", "{}"]), "same id"],
    [
      "too many calls",
      called(...Array.from({ length: callsPerStepMax + 1 }, (_, n) => [`${n}`, "t", "{}"] as [string, string, string])),
      "at most",
    ],
    ["a message that is none", said(specified([], 7)), "assistant_message"],
    ["actions that are none", said(specified("all of them")), "proposed_actions"],
    ["an action without a tool", said(specified([{ args: {} }])), "tool"],
    ["an identity that nobody has", said(specified([{ tool: "t", identity: "root", args: {} }])), "identity"],
    ["more than was asked for", said(specified([{ tool: "t", args: {}, approved: true }])), "approved"],
  ])("%s", (_what, output, why) => {
    expect(normalise(output)).toEqual({ outcome: "invalid", why: expect.stringContaining(why) });
  });
});

describe("what cannot be written down and read again as the same is refused:", () => {
  const acting = (args: string) => `{"assistant_message":"Yes.","proposed_actions":[{"tool":"t","args":${args}}]}`;

  test.each([
    ["a number beyond all numbers", '{"a":1e999}', "a number that is too large"],
    ["one below them, deep inside", '{"a":[{"b":[-1e999]}]}', "a number that is too large"],
    ["half a character", '{"a":"\\ud83e"}', "not well-formed Unicode"],
    ["half a character in a list", '{"a":["fine","\\udd80"]}', "not well-formed Unicode"],
    ["half a character as a name", '{"\\ud83e":1}', "a name that cannot be one"],
    ["a prototype", '{"__proto__":{"approved":true}}', "a name that cannot be one"],
    ["a prototype inside", '{"a":{"__proto__":1}}', "a name that cannot be one"],
  ])("%s", (_what, args, why) => {
    const refused = { outcome: "invalid", why: expect.stringContaining(why) };
    expect(normalise(called(["1", "t", args]))).toEqual(refused);
    expect(normalise(said(acting(args)))).toEqual(refused);
  });

  test("what looks like that, and is not, is fine", () => {
    const args = '{"a":"\\ud83e\\udd80","b":1e308,"constructor":"x","prototype":[],"c":"__proto__"}';
    expect(normalise(called(["1", "t", args]))).toMatchObject({ outcome: "valid" });
  });

  test("half a character in the text, with a reason of its own", () => {
    const refused = { outcome: "invalid", why: "the text is not well-formed Unicode" };
    expect(normalise(said("half a crab: \ud83e"))).toEqual(refused);
    expect(normalise({ ...called(["1", "t", "{}"]), text: "\udd80" })).toEqual(refused);
  });

  test("everything else comes back from the log as it was said", () => {
    const args = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary" }));
    fc.assert(
      fc.property(args, (wanted) => {
        const normalised = normalise(called(["1", "t", JSON.stringify(wanted)]));
        if (normalised.outcome === "invalid") return;
        const [call] = normalised.calls;
        const planned = asRead({ case: "toolCallPlanned", value: { args: call!.args as JsonObject } });
        expect(planned.value).toMatchObject({ args: JSON.parse(JSON.stringify(wanted)) as object });
      }),
    );
  });
});

test.each(["t", "notes_write", "gmail.send", "a-b", "A1", "__proto__", "9"])("%j is a name", (name) => {
  expect(normalise(called(["1", name, "{}"]))).toMatchObject({ outcome: "valid", calls: [{ tool: name }] });
  expect(normalise(said(specified([{ tool: name, args: {} }])))).toMatchObject({ calls: [{ tool: name }] });
});

test.each(["", " ", "rm -rf /", "notes_write ", "a\nb", "näme", "t\u0000", "a/b", "🦀", "<b>", "t\n"])(
  "%j is no name: nobody could be called that",
  (name) => {
    const why = expect.stringContaining("names no tool") as unknown;
    expect(normalise(called(["1", name, "{}"]))).toEqual({ outcome: "invalid", why });
    expect(normalise(said(specified([{ tool: name, args: {} }])))).toMatchObject({ outcome: "invalid" });
  },
);

describe("a text that was meant as an object", () => {
  test.each([
    '{"assistant_message":"Good',
    '{"assistant_message": "Good", }',
    ' \n{ "proposed_actions": [], "assistant_message": Good }',
    '```json\n{"assistant_message":"Good"}',
    '```\n{"assistant_message":"Good',
    '{"assistant_message":"Good"} That is all.',
  ])("and is none is not shown to anybody: %j", (text) => {
    const why = "the answer is meant as a JSON object, and is none";
    expect(normalise(said(text))).toEqual({ outcome: "invalid", why });
  });

  test.each([
    'Say {"assistant_message":"Good"}',
    "{ assistant_message }",
    "{",
    '```ts\nconst x = {"assistant_message":1};\n```',
    'The field "assistant_message" is yours.',
  ])("is not every text that looks a bit like one: %j", (text) => {
    expect(normalise(said(text))).toEqual(valid(text));
  });
});

describe("what is larger than makes sense is refused:", () => {
  const depthMax = 20;
  const lengthMax = 256 * 1024;
  const textBytesMax = 64 * 1024;
  const tooLarge = { outcome: "invalid", why: expect.stringContaining("larger than allowed") };
  /** An object in an object, so many of them in all. */
  const deep = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
  const sized = (length: number) => `{"a":"${"x".repeat(length - 8)}"}`;
  const acting = (args: string) => `{"assistant_message":"Yes.","proposed_actions":[{"tool":"t","args":${args}}]}`;

  test("arguments that are too deep", () => {
    expect(normalise(called(["1", "t", deep(depthMax)]))).toMatchObject({ outcome: "valid" });
    expect(normalise(called(["1", "t", deep(depthMax + 1)]))).toEqual(tooLarge);
    expect(normalise(called(["1", "t", `{"a":${"[".repeat(depthMax)}${"]".repeat(depthMax)}}`]))).toEqual(tooLarge);
    expect(normalise(said(acting(deep(depthMax))))).toMatchObject({ outcome: "valid" });
    expect(normalise(said(acting(deep(depthMax + 1))))).toEqual(tooLarge);
  });

  test("arguments so deep that whoever follows them does not come back", () => {
    const abyss = deep(40_000);
    expect(normalise(called(["1", "t", abyss]))).toEqual(tooLarge);
    expect(normalise(said(acting(abyss)))).toMatchObject({ outcome: "invalid" });
    expect(normalise(said(deep(10_000)))).toMatchObject({ outcome: "valid", calls: [] }); // Some other JSON is a text.
  });

  test("arguments that are too long", () => {
    expect(normalise(called(["1", "t", sized(lengthMax)]))).toMatchObject({ outcome: "valid" });
    expect(normalise(called(["1", "t", sized(lengthMax + 1)]))).toEqual(tooLarge);
    const rest = acting("").length;
    expect(normalise(said(acting(sized(lengthMax - rest))))).toMatchObject({ outcome: "valid" });
    expect(normalise(said(acting(sized(lengthMax - rest + 1))))).toEqual(tooLarge);
  });

  test("arguments that are mostly white space", () => {
    expect(normalise(called(["1", "t", `{${" ".repeat(lengthMax)}}`]))).toEqual(tooLarge);
  });

  test.each([
    ["one byte", "a"],
    ["three bytes", "水"],
    ["four bytes", "🦀"],
  ])("a text of more than 64 KiB, in characters of %s", (_what, character) => {
    const tooLong = { outcome: "invalid", why: `the text is longer than ${textBytesMax} bytes` };
    const text = character.repeat(Math.floor(textBytesMax / Buffer.byteLength(character)));
    expect(normalise(said(text))).toEqual(valid(text));
    expect(normalise(said(text + character))).toEqual(tooLong);
    expect(normalise({ ...called(["1", "t", "{}"]), text: text + character })).toEqual(tooLong);
    expect(normalise(said(specified([], text + character)))).toEqual(tooLong);
  });

  test("a name that is too long", () => {
    expect(normalise(called(["1", "t".repeat(100), "{}"]))).toMatchObject({ outcome: "valid" });
    const refused = normalise(called(["1".repeat(10_000), "t".repeat(101), "{}"]));
    expect(refused).toMatchObject({ outcome: "invalid" });
    expect(refused.outcome === "invalid" && refused.why.length).toBeLessThan(200);
  });

  test("a justification that is too long", () => {
    const action = (length: number) => ({ tool: "t", args: {}, justification: "x".repeat(length) });
    expect(normalise(said(specified([action(2_000)])))).toMatchObject({ outcome: "valid" });
    expect(normalise(said(specified([action(2_001)])))).toMatchObject({ outcome: "invalid" });
  });
});

test("anything at all is understood or refused, and never thrown", () => {
  const calls = fc.array(
    fc.record({ id: fc.string(), name: fc.string(), argumentsJson: fc.oneof(fc.string(), fc.json()) }),
  );
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.json().map((json) => `{"assistant_message":${json}}`),
  );
  fc.assert(
    fc.property(fc.record({ text, toolCalls: calls }), (output) => {
      const normalised = normalise(output);
      if (normalised.outcome === "valid") expect(normalised.calls.length).toBeLessThanOrEqual(callsPerStepMax);
      else expect(normalised.why).not.toBe("");
    }),
  );
});

describe("however much a model says, it is understood or refused in a time that grows with it:", () => {
  const shape = (actions: string) => `{"assistant_message":"","proposed_actions":[${actions}]}`;

  test.each<[string, (size: number) => string]>([
    ["a fence without an end", (size) => `\`\`\`${"\n".repeat(size)}x`],
    ["a fence with an end after much nothing", (size) => `\`\`\`${"\n".repeat(size)}\n\`\`\``],
    ["a fence around half an object", (size) => `\`\`\`json${"\n".repeat(size)}{"assistant_message":`],
    ["the beginnings of many objects", (size) => "{".repeat(size)],
    ["the names of many messages", (size) => `{${'"assistant_message" '.repeat(size)}`],
    ["nothing", (size) => " ".repeat(size)],
  ])("%s", (_what, text) => {
    expect(growthOf((size) => normalise(said(text(size))), 1_000)).toBeLessThan(linearGrowthMax);
  });

  test("more actions than may be are counted, and not looked at", () => {
    const many = (count: number) => normalise(said(shape(Array.from({ length: count }, () => "1").join(","))));
    expect(many(callsPerStepMax)).toMatchObject({ why: expect.stringContaining("expected object") as unknown });
    expect(many(callsPerStepMax + 1)).toEqual({
      outcome: "invalid",
      why: expect.not.stringContaining("expected object") as unknown,
    });
  });

  test("more arguments than may be are not looked at", () => {
    const why = 'the arguments of "t" are larger than allowed';
    expect(normalise(called(["1", "t", "[".repeat(256 * 1024 + 1)]))).toEqual({ outcome: "invalid", why });
    expect(normalise(said(shape("[".repeat(256 * 1024))))).toEqual({
      outcome: "invalid",
      why: "the proposed actions are larger than allowed",
    });
  });

  test("what is wrong is told in so many words and no more", () => {
    const keys = Array.from({ length: 10_000 }, (_, n) => `"k${n}":1`).join(",");
    const refused = normalise(said(`{"assistant_message":"",${keys}}`));
    expect(refused).toMatchObject({ outcome: "invalid", why: expect.stringContaining('"k1"') as unknown });
    expect(refused.outcome === "invalid" && refused.why.length).toBeLessThanOrEqual(2_000);
  });
});
