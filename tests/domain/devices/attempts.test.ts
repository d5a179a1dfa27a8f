import { describe, expect, test } from "@jest/globals";
import {
  attemptsMax,
  attemptsPerAddressMax,
  attemptWindowMillis,
  refuseAttempt,
} from "../../../domain/devices/index.js";

const noon = Date.UTC(2026, 0, 1, 12);

function failures(count: number, address: (index: number) => string, everyMillis: number) {
  return Array.from({ length: count }, (_, index) => ({ address: address(index), at: noon + index * everyMillis }));
}

function waitSeconds(...[failed, address, at]: Parameters<typeof refuseAttempt>): unknown {
  return refuseAttempt(failed, address, at)?.facts["retryAfterSeconds"] ?? 0;
}

describe("whoever tries a pairing code", () => {
  test("may, if nobody has failed", () => {
    expect(refuseAttempt([], "a", noon)).toBeNull();
  });

  test("waits twice as long after each failure", () => {
    const waits = [1, 2, 3, 4].map((count) =>
      waitSeconds(
        failures(count, () => "a", 0),
        "a",
        noon,
      ),
    );
    expect(waits).toEqual([1, 2, 4, 8]);
    expect(
      waitSeconds(
        failures(1, () => "a", 0),
        "a",
        noon + 1_000,
      ),
    ).toBe(0);
  });

  test("does not wait for years because the clock was wrong once", () => {
    const ahead = [{ address: "a", at: noon + 365 * 86_400_000 }];
    expect(waitSeconds(ahead, "a", noon)).toBe(1);
  });

  test("is not kept waiting by another's failures, as long as they are few", () => {
    expect(
      waitSeconds(
        failures(attemptsPerAddressMax, () => "b", 0),
        "a",
        noon,
      ),
    ).toBe(0);
  });

  test("has few tries, and then waits until the first is long ago", () => {
    const failed = failures(attemptsPerAddressMax, () => "a", 60_000);
    const at = noon + attemptsPerAddressMax * 60_000;
    expect(waitSeconds(failed, "a", at)).toBe((noon + attemptWindowMillis - at) / 1_000);
    expect(waitSeconds(failed, "a", noon + attemptWindowMillis)).toBe(0);
  });

  test("shares the tries of all with everybody", () => {
    const failed = failures(attemptsMax, (index) => `a${index}`, 1_000);
    const at = noon + attemptsMax * 1_000;
    expect(waitSeconds(failed, "new", at)).toBe((noon + attemptWindowMillis - at) / 1_000);
    expect(waitSeconds(failed.slice(1), "new", at)).toBe(0);
  });
});
