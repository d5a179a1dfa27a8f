import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import {
  defaultToolLimits,
  limitsOf,
  parametersOf,
  tool,
  Toolbox,
  type Tool,
  type ToolLimits,
} from "../../../domain/approvals/index.js";
import { artifactPut, notesWrite } from "../../../domain/memory/index.js";
import { RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { outletTool } from "../../support/outlet.js";

function named(name: string): Tool {
  return tool({
    name,
    version: 1,
    description: `It is called ${name}.`,
    args: z.strictObject({ what: z.string().max(9).describe("What of it."), often: z.number().int().optional() }),
    risk: RiskClass.READ,
    identity: "none",
    kind: "internal",
    destination: "internal",
    record: () => ({ facts: [], text: "" }),
  });
}

describe("a box of tools", () => {
  test("has those that were put into it, in their order", () => {
    const [one, other] = [named("one"), named("other")];
    const toolbox = new Toolbox([one, other]);
    expect(toolbox.all).toEqual([one, other]);
    expect(toolbox.find("one")).toBe(one);
    expect(toolbox.find("other")).toBe(other);
  });

  test.each(["", "On", "one ", "ONE", "__proto__", "constructor", "toString", "hasOwnProperty"])(
    "has no tool %j if nobody put it there",
    (name) => {
      expect(new Toolbox([named("one")]).find(name)).toBeNull();
    },
  );

  test("does not hold two of the same name: who is called must be known", () => {
    expect(() => new Toolbox([named("one"), named("other"), named("one")])).toThrow("same name");
  });

  test("may be empty", () => {
    expect(new Toolbox([]).all).toEqual([]);
    expect(new Toolbox([]).find("one")).toBeNull();
  });
});

describe("a tool that takes what nobody has described is not put into a box", () => {
  const text = z.string();
  const taking = (args: z.ZodType) => () => new Toolbox([{ ...named("one"), args }]);

  test.each<[string, z.ZodType]>([
    ["at the top", z.object({ text })],
    ["at the top, with all that comes", z.looseObject({ text })],
    ["inside", z.strictObject({ a: z.strictObject({ b: z.object({ text }) }) })],
    ["in a list", z.strictObject({ a: z.array(z.object({ text })) })],
    ["in a list of so many", z.strictObject({ a: z.tuple([text, z.object({ text })]) })],
    ["as one of several things", z.strictObject({ a: z.union([text, z.object({ text })]) })],
    ["under names of its own", z.strictObject({ a: z.record(text, text) })],
    ["as whatever it is", z.strictObject({ a: z.unknown().describe("Whatever.") })],
    ["before it is made into something else", z.object({ text }).transform(() => ({}))],
  ])("%s", (_, args) => {
    expect(taking(args)).toThrow("one: its arguments");
  });

  test("and the others are", () => {
    const inner = z.strictObject({
      text: text.optional(),
      none: z.null(),
      one: z.literal("a"),
      never: z.never().optional(),
    });
    const args = z.strictObject({ a: z.array(inner), b: z.union([inner, z.int()]), c: z.enum(["x"]).default("x") });
    expect(taking(args)).not.toThrow();
    expect(taking(z.discriminatedUnion("kind", [inner.extend({ kind: z.literal("k") })]))).not.toThrow();
  });
});

describe("an acting tool", () => {
  const limited = (limits: Partial<ToolLimits>) => ({ ...outletTool("http://127.0.0.1"), limits }) as Tool;

  test("has the usual limits where it names no others", () => {
    expect(limitsOf({})).toEqual(defaultToolLimits);
    expect(limitsOf({ limits: { attemptsMax: 1 } })).toEqual({ ...defaultToolLimits, attemptsMax: 1 });
  });

  test.each([0, -1, 1.5, NaN, Infinity])("cannot have %s as a limit", (value) => {
    for (const name of Object.keys(defaultToolLimits))
      expect(() => new Toolbox([limited({ [name]: value })])).toThrow(`outlet_post: ${name}`);
  });

  test("may have limits of its own", () => {
    expect(new Toolbox([limited({ atOnceMax: 1, attemptMillisMax: 5 })]).all).toHaveLength(1);
  });
});

describe("a model is told of a tool's arguments", () => {
  test("what there are, which must be given, and that there are no others", () => {
    expect(parametersOf(named("one"))).toMatchObject({
      type: "object",
      properties: { what: { type: "string", maxLength: 9, description: "What of it." }, often: { type: "integer" } },
      required: ["what"],
      additionalProperties: false,
    });
  });

  test("that what has a default need not be given", () => {
    expect(parametersOf(artifactPut)).toMatchObject({
      required: ["title", "content"],
      properties: { media_type: { default: "text/markdown" } },
    });
  });

  test.each([notesWrite, artifactPut])("in JSON, for the tools there are ($name)", (one) => {
    const parameters = parametersOf(one);
    expect(JSON.parse(JSON.stringify(parameters))).toEqual(parameters);
    expect(parameters).toMatchObject({ type: "object", additionalProperties: false });
  });
});
