import { describe, expect, test } from "@jest/globals";
import { deltaMillisMax } from "../../../commands/threads/turn-output.js";
import type { NewFact } from "../../../domain/shared/index.js";
import { messageTextBytesMax } from "../../../domain/threads/index.js";
import { ReasoningVisibility } from "../../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { textsIn, thoughtsIn, WrittenOutput } from "./written-output.js";

const { REASONING_OFF, REASONING_SUMMARY, REASONING_RAW } = ReasoningVisibility;
const deltaCharsMax = 4_096;
const thinkingCharsMax = 64 * 1024;

describe("what comes within 40 ms", () => {
  test("is written as one", () => {
    const written = new WrittenOutput().says("Good").pass(20).says(" morning").pass(19);
    expect(deltaMillisMax).toBe(40);
    expect(written.writes).toEqual([]);
    expect(written.pass(1).writes).toEqual([
      [{ case: "assistantTextDelta", value: { segmentId: "call 1", delta: "Good morning" } }],
    ]);
  });

  test("is counted from the first piece: one who never pauses is written down nevertheless", () => {
    const written = new WrittenOutput();
    for (const text of ["a", "b", "c", "d", "e", "f"]) written.says(text).pass(20);
    expect(written.texts).toEqual(["ab", "cd", "ef"]);
  });

  test("is followed by what comes next", () => {
    const written = new WrittenOutput().says("Good").pass(40).pass(500).says(" morning").pass(39);
    expect(written.texts).toEqual(["Good"]);
    expect(written.pass(1).texts).toEqual(["Good", " morning"]);
  });

  test("is not waited for if it is nothing", () => {
    const written = new WrittenOutput().says("").thinks("");
    expect(written.timers.waiting).toBe(0);
    expect(written.pass(1_000).writes).toEqual([]);
  });

  test("is written at once if it is much", () => {
    const written = new WrittenOutput().says("x".repeat(deltaCharsMax - 1));
    expect(written.texts).toEqual([]);
    expect(written.says("y").texts).toEqual([`${"x".repeat(deltaCharsMax - 1)}y`]);
    expect(written.timers.waiting).toBe(0);
    expect(written.pass(1_000).writes).toHaveLength(1);
  });

  test("is much if text and thoughts are together", () => {
    const written = new WrittenOutput(REASONING_RAW).thinks("x".repeat(4_000)).says("y".repeat(95));
    expect(written.writes).toEqual([]);
    expect(written.says("y").writes).toHaveLength(1);
  });

  test("is written thoughts first", () => {
    const written = new WrittenOutput(REASONING_RAW).says("Yes.").thinks("Hm.").pass(40);
    expect(written.writes.map((facts) => facts.map((fact) => fact.case))).toEqual([
      ["assistantThinkingDelta", "assistantTextDelta"],
    ]);
  });
});

describe("when nothing more comes,", () => {
  test("what is left is not written but handed out, as often as anybody asks", () => {
    const written = new WrittenOutput().says("Good").pass(40).says(" morning").close();
    expect(written.timers.waiting).toBe(0);
    expect(written.pass(1_000).texts).toEqual(["Good"]);
    const rest = [{ case: "assistantTextDelta", value: { segmentId: "call 1", delta: " morning" } }];
    expect(written.output.rest("Good morning")).toEqual(rest);
    expect(written.output.rest("Good morning")).toEqual(rest);
  });

  test("there may be nothing left", () => {
    const written = new WrittenOutput().says("Good morning").pass(40).close();
    expect(written.output.rest("Good morning")).toEqual([]);
    expect(new WrittenOutput().close().output.rest("")).toEqual([]);
  });

  test("and nothing of it is used, no text is added; what was thought is still told", () => {
    const written = new WrittenOutput(REASONING_RAW).says("Good").pass(40).says(" morning").thinks("Hm.").close();
    expect(textsIn(written.output.rest(""))).toEqual([]);
    expect(thoughtsIn(written.output.rest(""))).toEqual(["Hm."]);
    expect(thoughtsIn(written.output.rest(""))).toEqual(["Hm."]);
  });
});

describe("what a model thinks", () => {
  const thoughts = ["The owner wants", " tea. There is none.", "\n\n", "So I look"];

  test("is not shown if nobody wants to see it; but it has its price", () => {
    const written = new WrittenOutput(REASONING_OFF).thinks(...thoughts).pass(40);
    expect(written.timers.waiting).toBe(0);
    expect(written.close().writes).toEqual([]);
    expect(written.output.rest("")).toEqual([]);
    expect(written.output.tokens).toBeGreaterThanOrEqual(Math.ceil(thoughts.join("").length / 3));
  });

  test("is shown as a gist, which says that it is one", () => {
    const written = new WrittenOutput(REASONING_SUMMARY).thinks(...thoughts).pass(40);
    const said = { segmentId: "call 1", redacted: true, visibility: REASONING_SUMMARY };
    const gist = { case: "assistantThinkingDelta", value: { ...said, delta: "The owner wants tea.\n" } };
    expect(written.writes).toEqual([[gist]]);
    const end = { case: "assistantThinkingDelta", value: { ...said, delta: "So I look\n" } };
    expect(written.close().output.rest("")).toEqual([end]);
  });

  test("has a gist that ends once", () => {
    const written = new WrittenOutput(REASONING_SUMMARY).thinks("So I look").close().close();
    expect(thoughtsIn(written.output.rest(""))).toEqual(["So I look\n"]);
  });

  test("is shown word for word to those who may see it", () => {
    const written = new WrittenOutput(REASONING_RAW).thinks(...thoughts).pass(40);
    const said = { segmentId: "call 1", redacted: false, visibility: REASONING_RAW };
    expect(written.writes).toEqual([
      [{ case: "assistantThinkingDelta", value: { ...said, delta: thoughts.join("") } }],
    ]);
    expect(written.close().output.rest("")).toEqual([]);
  });

  test("is not shown without end", () => {
    const written = new WrittenOutput(REASONING_RAW);
    for (let chars = 0; chars < 2 * thinkingCharsMax; chars += 1_024) written.thinks("x".repeat(1_024));
    written.pass(40).close();
    expect(written.thoughts.join("") + thoughtsIn(written.output.rest("")).join("")).toHaveLength(thinkingCharsMax);
    expect(written.output.tokens).toBeGreaterThanOrEqual((2 * thinkingCharsMax) / 3);
  });
});

describe("what a model thinks beyond what is shown", () => {
  const thinkingDelta = (facts: readonly NewFact[]) =>
    facts.flatMap((fact) => (fact.case === "assistantThinkingDelta" ? [fact.value.redacted] : []));

  test("is cut exactly there, and says that something is missing", () => {
    const whole = new WrittenOutput(REASONING_RAW).thinks("x".repeat(thinkingCharsMax)).pass(40);
    expect(thinkingDelta(whole.writes.flat())).toEqual([false]);
    const cut = new WrittenOutput(REASONING_RAW).thinks("x".repeat(thinkingCharsMax + 1)).pass(40);
    expect(thinkingDelta(cut.writes.flat())).toEqual([true]);
    expect(cut.thoughts.join("")).toHaveLength(thinkingCharsMax);
  });

  test("is cut between characters", () => {
    const written = new WrittenOutput(REASONING_RAW).thinks(`${"x".repeat(thinkingCharsMax - 1)}\u{1f980}`).pass(40);
    expect(written.thoughts.join("").isWellFormed()).toBe(true);
  });
});

test("what comes after the end is of no interest any more", () => {
  const written = new WrittenOutput(REASONING_RAW).says("Good").close();
  const { tokens } = written.output;
  written.says(" morning").thinks("Hm.");
  expect(written.timers.waiting).toBe(0);
  expect(written.pass(1_000).writes).toEqual([]);
  expect(written.output.tokens).toBe(tokens);
  expect(written.output.rest("Good")).toEqual([
    { case: "assistantTextDelta", value: { segmentId: "call 1", delta: "Good" } },
  ]);
});

describe("what may become an object", () => {
  test.each([
    ["{"],
    [' \n{"assistant'],
    ["```json\n{"],
    ["```\n{"],
    ["```json"],
    ["```j"],
    ["```"],
    ["``"],
    ["`"],
    [" \n\t "],
    [" ".repeat(100)],
    ["```json\n" + " ".repeat(100)],
  ])("is held back: %j", (start) => {
    const written = new WrittenOutput().says(start);
    expect(written.timers.waiting).toBe(0);
    expect(written.pass(1_000).writes).toEqual([]);
    expect(textsIn(written.close().output.rest(start))).toEqual([start]);
  });

  test.each([
    ["```ts\nconst a = 1;"],
    ["```\nplain"],
    ["```python"],
    ["```jsonc\n{"],
    ["```json\n[1]"],
    ["`code`"],
    ["[1, 2]"],
    ["It is {"],
    ["\n\nIt is"],
  ])("is something else, and written: %j", (start) => {
    expect(new WrittenOutput().says(start).pass(40).texts).toEqual([start]);
  });

  test("is held back however long it gets, and then only what it says is written", () => {
    const object = JSON.stringify({
      assistant_message: "Good morning",
      proposed_actions: [],
      padding: "x".repeat(9_000),
    });
    const written = new WrittenOutput();
    for (const character of object) written.says(character).pass(1);
    expect(written.close().writes).toEqual([]);
    expect(textsIn(written.output.rest("Good morning"))).toEqual(["Good morning"]);
  });

  test("is written from its beginning, once it is known to be none", () => {
    const written = new WrittenOutput().says("`", "``").pass(40).says("ts").pass(20).says("\nlet a").pass(20);
    expect(written.texts).toEqual(["```ts\nlet a"]);
  });

  test("does not keep the thoughts back", () => {
    const written = new WrittenOutput(REASONING_RAW).says("{").thinks("Hm.").pass(40);
    expect([written.texts, written.thoughts]).toEqual([[], ["Hm."]]);
  });
});

test("a text that is too long to become a message is not written any further", () => {
  const written = new WrittenOutput();
  for (let chars = 0; chars < 2 * messageTextBytesMax; chars += 1_000) written.says("x".repeat(1_000)).pass(40);
  expect(written.texts.join("")).toHaveLength(Math.floor(messageTextBytesMax / 1_000) * 1_000);
  expect(written.timers.waiting).toBe(0);
  expect(written.output.tokens).toBeGreaterThanOrEqual((2 * messageTextBytesMax) / 3);
  expect(written.close().output.rest("")).toEqual([]);
});

test("a text that is just as long as a message may be is written to its end", () => {
  const written = new WrittenOutput().says("x".repeat(messageTextBytesMax));
  expect(written.texts.join("")).toHaveLength(messageTextBytesMax);
  expect(written.says("y").pass(1_000).texts.join("")).toHaveLength(messageTextBytesMax);
});

test("about how many tokens have come is known at any time", () => {
  const written = new WrittenOutput().says("abc");
  expect(written.output.tokens).toBe(1);
  expect(written.says("def").pass(40).thinks("abc").output.tokens).toBe(3);
  written.output.add({ kind: "arguments", text: '{"a":1}' });
  expect(written.output.tokens).toBe(2 + Math.ceil(10 / 3));
});
