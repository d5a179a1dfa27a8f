import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { toInstant, toText, toTimestamp } from "../../../domain/shared/index.js";

const instant = fc.integer({ min: Date.UTC(0, 0, 1), max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) });

test("a moment is written as every calendar writes it", () => {
  fc.assert(
    fc.property(instant, (at) => {
      expect(toText(at)).toBe(new Date(at).toISOString());
    }),
  );
  for (const at of [0, Date.UTC(2000, 1, 29), Date.UTC(2026, 1, 28, 23, 59, 59, 999), Date.UTC(1900, 2, 1), -1]) {
    expect(toText(at)).toBe(new Date(at).toISOString());
  }
});

test("a moment comes back from protobuf as it was", () => {
  fc.assert(
    fc.property(instant, (at) => {
      expect(toInstant(toTimestamp(at))).toBe(at);
    }),
  );
});
