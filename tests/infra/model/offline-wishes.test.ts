import { describe, expect, test } from "@jest/globals";
import { answerTo, callsFor, clock, string, toolOf, tools, weather } from "./offline-asking.js";

describe("a note is taken", () => {
  test.each([
    ["note: buy milk", "buy milk"],
    ["Note:buy milk", "buy milk"],
    ["Note to self: buy milk", "buy milk"],
    ["take a note: buy milk", "buy milk"],
    ["Take a note that milk is out", "milk is out"],
    ["Hi Pincer, could you please take a note: buy milk", "buy milk"],
    ["please remember that milk is out.", "milk is out."],
    ["write down buy milk", "buy milk"],
    ["Write down: eat and then sleep", "eat and then sleep"],
    ["note:\n- milk\n- bread", "- milk\n- bread"],
    ["note: use weather_look_up more", "use weather_look_up more"],
  ])("of %j", async (said, text) => {
    const title = text.startsWith("-") ? "milk" : text;
    expect(await callsFor(said)).toEqual([["notes_write", { title, text }]]);
  });

  test("with its first words as the title", async () => {
    const text = "the plumber comes on Thursday at nine, and wants to be paid in cash and have a coffee";
    const [[, args]] = (await callsFor(`note: ${text}`)) as [[string, { title: string }]];
    expect(args).toEqual({ title: "the plumber comes on Thursday at nine, and wants to be…", text });
  });

  test("in words that say so", async () => {
    expect(await answerTo("note: buy milk")).toMatchObject({
      thinking: "This asks for notes_write.",
      text: "I am Pincer's built-in offline model, not a language model. I ask for notes_write.",
      toolCalls: [{ id: "offline_1", name: "notes_write", argumentsJson: '{"title":"buy milk","text":"buy milk"}' }],
      finishReason: "tool_calls",
    });
  });

  test("in the fields that the tool has", async () => {
    const plain = toolOf("notes_write", { text: string }, ["text"]);
    expect(await callsFor("note: buy milk", { tools: [plain] })).toEqual([["notes_write", { text: "buy milk" }]]);
    const other = toolOf("notes_write", { body: string }, ["body"]);
    expect(await callsFor("note: buy milk", { tools: [other] })).toEqual([["notes_write", { body: "buy milk" }]]);
    const strict = toolOf("notes_write", { title: string, text: string, folder: { type: "integer" } }, ["folder"]);
    expect((await answerTo("note: buy milk", { tools: [strict] })).text).toContain("must be told its folder.");
  });

  test.each(["Do you remember that summer?", "A note: is it music?", "I remember you", "take that"])(
    "not of %j",
    async (said) => expect(await callsFor(said)).toEqual([]),
  );

  test("of nothing is a question", async () => {
    const { text, toolCalls } = await answerTo("note:");
    expect(toolCalls).toEqual([]);
    expect(text).toContain("To call notes_write, I must be told its title, text.");
  });
});

describe("a tool is called by", () => {
  const berlin = { city: "Berlin" };
  test.each<[string, string, unknown]>([
    ['use notes_write with {"title":"x","text":"y"}', "notes_write", { title: "x", text: "y" }],
    [
      'Use `notes_write` with {\n  "title": "a } b",\n  "text": "use clock"\n}',
      "notes_write",
      { title: "a } b", text: "use clock" },
    ],
    ['use notes_write with title and text {"title":"x","text":"y"}', "notes_write", { title: "x", text: "y" }],
    ['use weather_look_up with {"city":"Bonn","moon":[1]}', "weather_look_up", { city: "Bonn", moon: [1] }],
    ["call weather look up city: Berlin", "weather_look_up", berlin],
    ["Please call the WEATHER look up tool for Berlin, please.", "weather_look_up", berlin],
    ["weather_look_up Berlin", "weather_look_up", berlin],
    ['weather look up for "New York"', "weather_look_up", { city: "New York" }],
    ["For my trip, use weather_look_up with city=Berlin.", "weather_look_up", berlin],
    ["What is it like? use weather look up about Berlin", "weather_look_up", berlin],
    ["Can you run weather_look_up for New York with days 2?", "weather_look_up", { days: 2, city: "New York" }],
    ["weather look up Berlin?", "weather_look_up", berlin],
    ["weather_look_up city=Berlin days=3", "weather_look_up", { ...berlin, days: 3 }],
    ["weather_look_up days=3 for Berlin", "weather_look_up", { days: 3, ...berlin }],
    ["weather look up city New York, and days 3.", "weather_look_up", { city: "New York", days: 3 }],
    [
      "weather_look_up hourly: yes fields: wind, rain city: Berlin",
      "weather_look_up",
      { hourly: true, fields: ["wind", "rain"], ...berlin },
    ],
    [
      'weather_look_up city=Berlin hourly=off fields=["a"]',
      "weather_look_up",
      { ...berlin, hourly: false, fields: ["a"] },
    ],
    [
      'artifact put title "Plan" content "one,\nand then \\"two\\""',
      "artifact_put",
      { title: "Plan", content: 'one,\nand then "two"' },
    ],
    [
      "artifact_put title: Plan content: The title says it all.",
      "artifact_put",
      { title: "Plan", content: "The title says it all." },
    ],
    ["artifact_put 'My plan' content: first\nsecond", "artifact_put", { content: "first\nsecond", title: "My plan" }],
    [
      'artifact_put title “P” content {"a":1} share 0.5 extra={"b":2}',
      "artifact_put",
      { title: "P", content: '{"a":1}', share: 0.5, extra: { b: 2 } },
    ],
    ["numbers_add numbers=1, 2.5, -3", "numbers_add", { numbers: [1, 2.5, -3] }],
    ["- clock", "clock", {}],
  ])("%j", async (said, name, args) => expect(await callsFor(said)).toEqual([[name, args]]));

  test.each([
    "What does weather_look_up do?",
    "I told her about the weather look up",
    "The clock is ticking",
    "My e-clock",
    "clockwork",
  ])("nothing like %j", async (said) => expect(await callsFor(said)).toEqual([]));

  test("its longer name, if another is part of it", async () => {
    const short = toolOf("weather", {}, []);
    expect(await callsFor("weather look up Berlin", { tools: [short, weather] })).toEqual([
      ["weather_look_up", berlin],
    ]);
    expect(await callsFor("use weather and then clock", { tools: [short, clock] })).toHaveLength(2);
  });

  test("no sentence that leaves out what it must know; there an example is given", async () => {
    const { text, toolCalls, finishReason } = await answerTo("use artifact_put title: Plan");
    expect([toolCalls, finishReason]).toEqual([[], "stop"]);
    expect(text).toContain('must be told its content. Say, for example: use artifact_put title="…" content="…"');
    expect((await answerTo('use artifact_put {"content":"x"}')).text).toContain("must be told its title.");
    expect((await answerTo('use weather_look_up {"city": Berlin}')).text).toContain("must be told its city.");
  });

  test.each(["days=many", "days=1.5", "hourly=perhaps"])("no sentence with a value like %s", async (pair) =>
    expect((await answerTo(`weather_look_up city=Berlin ${pair}`)).text).toContain(`told its ${pair.split("=")[0]!}.`),
  );

  test("the example that is given for it", async () => {
    for (const tool of tools) {
      const { text } = await answerTo("Hello", { tools: [{ ...tool, name: "some_tool" }] });
      const example = /for example: (.*)/u.exec(text)![1]!;
      expect(await callsFor(example, { tools: [{ ...tool, name: "some_tool" }] })).toHaveLength(1);
    }
  });
});

describe("several sentences", () => {
  test("are several calls, in their order", async () => {
    const { toolCalls } = await answerTo("Hello!\nnote: buy milk and then clock\nThen:\n- weather look up Berlin");
    expect(toolCalls.map(({ id, name }) => `${id} ${name}`)).toEqual([
      "offline_1 notes_write",
      "offline_2 clock",
      "offline_3 weather_look_up",
    ]);
  });

  test("are no more than five calls", async () => {
    const { text, toolCalls } = await answerTo(Array.from({ length: 7 }, () => "use clock").join(" and then "));
    expect(toolCalls).toHaveLength(5);
    expect(text).toContain("ask again for the other 2.");
  });

  test("are no call at all if one of them is not clear", async () => {
    const { text, toolCalls } = await answerTo("clock and then weather_look_up");
    expect(toolCalls).toEqual([]);
    expect(text).toContain("To call weather_look_up, I must be told its city.");
  });
});
