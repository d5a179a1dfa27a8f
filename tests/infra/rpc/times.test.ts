import { create } from "@bufbuild/protobuf";
import { timestampFromDate, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "@jest/globals";
import { textOf } from "../../../infra/rpc/times.js";
import { refusedBy } from "./protocols.js";

const at = (seconds: bigint, nanos = 0) => create(TimestampSchema, { seconds, nanos });

describe("a time of the wire", () => {
  test.each([
    ["0001-01-01T00:00:00.000Z", at(-62_135_596_800n)],
    ["1969-12-31T23:59:59.999Z", at(-1n, 999_000_000)],
    ["2026-01-31T09:30:00.123Z", timestampFromDate(new Date("2026-01-31T09:30:00.123Z"))],
    ["9999-12-31T23:59:59.999Z", at(253_402_300_799n, 999_999_999)],
  ])("is %s as a table writes it", (text, timestamp) => {
    expect(textOf(timestamp, "x")).toBe(text);
  });

  test.each([
    ["before the year 1", at(-62_135_596_801n)],
    ["in the year 10000", at(253_402_300_800n)],
    ["in a past that no clock counts", at(-(10n ** 15n))],
    ["in a future that no clock counts", at(10n ** 15n)],
    ["of less than no nanoseconds", at(0n, -1)],
    ["of more nanoseconds than a second has", at(0n, 1_000_000_000)],
  ])("%s is none, and it is said where", async (_, timestamp) => {
    const refused = await refusedBy(Promise.resolve().then(() => textOf(timestamp, "until_time")));
    expect(refused).toMatchObject({ refusal: "value_unknown", facts: { field: "until_time" } });
  });
});
