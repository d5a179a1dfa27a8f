import { describe, expect, test } from "@jest/globals";
import type { Tool } from "../../../domain/approvals/index.js";
import { artifactPut, notesWrite } from "../../../domain/memory/index.js";
import { asRead } from "../../support/facts.js";

/** What a call records and tells, once its arguments have passed. */
function call(tool: Tool, args: object, executionId = "run 1") {
  if (tool.destination !== "internal") throw new Error("it reaches out");
  return tool.record(tool.args.parse(args), { executionId, threadId: "thread-1" });
}

const takes = (tool: Tool, args: unknown) => tool.args.safeParse(args).success;

describe("a note", () => {
  test("is written, and is named after its call", () => {
    expect(call(notesWrite, { title: "Tea", text: "Buy some." })).toEqual({
      facts: [{ case: "noteWritten", value: { noteId: "run 1", title: "Tea", text: "Buy some." } }],
      text: 'The note "Tea" is written.',
    });
  });

  test("is the same note however often its call is made, and another call is another note", () => {
    const note = { title: "Tea", text: "Buy some." };
    expect(call(notesWrite, note)).toEqual(call(notesWrite, note));
    expect(call(notesWrite, note, "run 2").facts[0]?.value).toMatchObject({ noteId: "run 2" });
  });

  test("has a title without white space around it", () => {
    expect(call(notesWrite, { title: " \n Tea\t", text: " " }).facts[0]?.value).toMatchObject({
      title: "Tea",
      text: " ",
    });
  });

  test.each<[string, unknown, boolean]>([
    ["the longest title", { title: "x".repeat(200), text: "y" }, true],
    ["a longer one", { title: "x".repeat(201), text: "y" }, false],
    ["no title", { text: "y" }, false],
    ["a title of white space", { title: " \n", text: "y" }, false],
    ["the longest text", { title: "x", text: "y".repeat(16_000) }, true],
    ["a longer one", { title: "x", text: "y".repeat(16_001) }, false],
    ["no text", { title: "x", text: "" }, false],
    ["a text that is none", { title: "x", text: { $ne: null } }, false],
    ["anything else", { title: "x", text: "y", noteId: "another's" }, false],
    ["nothing", {}, false],
    ["null", null, false],
    ["a list", ["x", "y"], false],
  ])("may have %s: %j", (_what, args, isTaken) => {
    expect(takes(notesWrite, args)).toBe(isTaken);
  });
});

describe("a document", () => {
  test("is kept in its thread, and is named after its call", () => {
    const plan = { title: "Plan", content: "Später 🦀", media_type: "text/plain" };
    const { facts, text } = call(artifactPut, plan);
    expect(text).toBe('The document "Plan" is kept.');
    expect(facts).toHaveLength(1);
    const { value } = asRead(facts[0]!);
    expect(value).toMatchObject({ artifactId: "run 1", threadId: "thread-1", mediaType: "text/plain", title: "Plan" });
    expect(new TextDecoder().decode((value as { content: Uint8Array }).content)).toBe("Später 🦀");
  });

  test("is Markdown, unless something else is said", () => {
    const { facts } = call(artifactPut, { title: "Plan", content: "# Plan" });
    expect(facts[0]?.value).toMatchObject({ mediaType: "text/markdown" });
  });

  test.each<[string, unknown, boolean]>([
    ["the longest content", { title: "x", content: "y".repeat(200_000) }, true],
    ["a longer one", { title: "x", content: "y".repeat(200_001) }, false],
    ["no content", { title: "x", content: "" }, false],
    ["a table", { title: "x", content: "y", media_type: "text/csv" }, true],
    ["JSON", { title: "x", content: "{}", media_type: "application/json" }, true],
    ["a page that runs scripts", { title: "x", content: "y", media_type: "text/html" }, false],
    ["a title of white space", { title: "\t", content: "y" }, false],
    ["anything else", { title: "x", content: "y", threadId: "another" }, false],
  ])("may have %s", (_what, args, isTaken) => {
    expect(takes(artifactPut, args)).toBe(isTaken);
  });
});
