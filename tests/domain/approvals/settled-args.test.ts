import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { settledArgs } from "../../../domain/approvals/index.js";

const settled = (args: z.ZodType, given: unknown) => settledArgs({ args }, given);

describe("arguments", () => {
  test("are settled as the schema has made them", () => {
    const schema = z.strictObject({ to: z.string().trim().toLowerCase(), often: z.number().default(1) });
    expect(settled(schema, { to: " ADA " })).toEqual({ to: "ada", often: 1 });
    expect(
      settled(z.strictObject({ a: z.array(z.strictObject({ b: z.boolean().nullable() })) }), { a: [{ b: null }] }),
    ).toEqual({
      a: [{ b: null }],
    });
  });

  test("may come in any order", () => {
    const turned = z.strictObject({ a: z.number(), b: z.number() }).transform(({ a, b }) => ({ b, a }));
    expect(settled(turned, { a: 1, b: 2 })).toEqual({ a: 1, b: 2 });
  });

  test("that the tool does not take are not settled", () => {
    expect(settled(z.strictObject({ to: z.string() }), { to: "ada", cc: "eve" })).toBeNull();
    expect(settled(z.strictObject({ to: z.string() }), "ada")).toBeNull();
  });

  test.each<[string, z.ZodType]>([
    ["adds something each time", z.string().transform((text) => `${text}!`)],
    ["takes something away each time", z.string().transform((text) => text.slice(1))],
    ["does not take what it has made", z.string().transform((text) => text.length)],
    ["breaks", z.string().transform(() => JSON.parse("{") as unknown)],
  ])("are not settled by a schema that %s", (_, schema) => {
    expect(settled(z.strictObject({ what: schema }), { what: "abc" })).toBeNull();
  });

  test.each<[string, unknown]>([
    ["a date", new Date(0)],
    ["nothing", undefined],
    ["no number", NaN],
    ["a number without end", Infinity],
    ["a big number", 1n],
    ["a map", new Map([["a", 1]])],
    ["a function", () => 1],
    ["half a character", "\ud800"],
    ["a list with a hole", Array<number>(1)],
    ["a date in a list", [{ at: new Date(0) }]],
    ["half a character in a name", { "\udc00": 1 }],
  ])("that become %s are not settled: it would be something else once it was written down", (_, made) => {
    expect(
      settled(
        z.any().transform(() => ({ what: made })),
        {},
      ),
    ).toBeNull();
  });

  test.each<[unknown]>([[[1]], [null], ["text"], [1]])(
    "that become %j are not settled, for they have no names",
    (made) => {
      expect(
        settled(
          z.any().transform(() => made),
          {},
        ),
      ).toBeNull();
    },
  );
});
