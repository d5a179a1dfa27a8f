import { describe, expect, test } from "@jest/globals";
import { createOutput, printable, type Output } from "../../../infra/cli/output.js";

/** A bell, a C1 control, a change of direction, an end of line that JSON lets through, and a tag beyond 16 bits. */
const nasty = "\u0007\u009b\u202e\u2028\u{e0041}";
const escaped = String.raw`\u0007\u009b\u202e\u2028\udb40\udc41`;

function printed(isJson: boolean, work: (output: Output) => void): string {
  let all = "";
  work(createOutput(isJson, (text) => (all += text)));
  return all;
}

describe("what is printed", () => {
  test("as JSON escapes what a terminal would obey, and says the same", () => {
    const line = printed(true, (output) => {
      output.print({ text: nasty }, () => "");
    });
    expect(line).toBe(`{"text":"${escaped}"}\n`);
    expect(JSON.parse(line)).toEqual({ text: nasty });
  });

  test("as text keeps its own ends of lines, and no other control", () => {
    const text = printed(false, (output) => {
      output.print(nasty, (value) => `one\n${value}`);
    });
    expect(text).toBe(`one\n${escaped}\n`);
  });

  test.each([0xfe00, 0xfe0f, 0xe0100, 0x17b4, 0x180b, 0x2065, 0x2800, 0x3164])(
    "shows what nobody would see: %s",
    (number) => {
      const hidden = `ada${String.fromCodePoint(number)}@example.com`;
      expect(printable(hidden)).toMatch(/^ada(\\u[0-9a-f]{4}){1,2}@example\.com$/u);
      expect(JSON.parse(`"${printable(hidden)}"`)).toBe(hidden);
    },
  );

  test("as a table has a line for each row, and numbers to the right even if the first is missing", () => {
    const text = printed(false, (output) => {
      output.printTable([
        { name: "a\nb", count: null },
        { name: nasty, count: 10 },
      ]);
    });
    expect(text.split("\n").map((line) => line.replaceAll(/ +/g, " "))).toEqual([
      "name count",
      String.raw`a\u000ab -`,
      `${escaped} 10`,
      "",
    ]);
    expect(text).toMatch(/ {4}-\n/);
  });
});
