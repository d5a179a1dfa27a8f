import { describe, expect, test } from "@jest/globals";
import type { ExpectedVersion } from "../../../commands/ports/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import { delta, said, threadCreated } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

describe("an expectation about a stream's version", () => {
  const met: [ExpectedVersion, number][] = [
    ["any", 0],
    ["any", 2],
    ["no_stream", 0],
    ["exists", 1],
    ["exists", 2],
    [0, 0],
    [1, 1],
    [2, 2],
  ];
  test.each(met)("%p is met by version %d", async (expected, version) => {
    const log = bench.log();
    for (let n = 1; n <= version; n++) await record(log, appendOf(write("s", "any", delta(`${n}`))));
    const [event] = await record(log, appendOf(write("s", expected, said("hello"))));
    expect(event).toMatchObject({ stream: "s", version: version + 1 });
  });

  const unmet: [ExpectedVersion, number][] = [
    ["no_stream", 1],
    ["no_stream", 2],
    ["exists", 0],
    [0, 1],
    [1, 0],
    [1, 2],
    [3, 2],
  ];
  test.each(unmet)("%p is not met by version %d, and nothing is recorded", async (expected, actual) => {
    const log = bench.log();
    for (let n = 1; n <= actual; n++) await record(log, appendOf(write("s", "any", delta(`${n}`))));
    const before = log.head();
    const result = await log.append(appendOf(write("s", expected, said("hello"))));
    expect(result).toEqual({ outcome: "version_conflict", stream: "s", expected, actual });
    expect(log.head()).toEqual(before);
    expect(log.readStream("s", 0, 10)).toHaveLength(actual);
  });

  test("is about the stream, not about the thread", async () => {
    const log = bench.log();
    await record(log, appendOf({ ...write("a", "no_stream", said("one")), threadId: "t" }));
    const [event] = await record(log, appendOf({ ...write("b", "no_stream", said("two")), threadId: "t" }));
    expect(event).toMatchObject({ version: 1, threadId: "t", sequence: 2 });
  });

  test("survives reopening", async () => {
    const first = bench.log();
    await record(first, appendOf(write("s", "no_stream", said("hello"))));
    first.close();
    expect(await bench.log().append(appendOf(write("s", "no_stream", said("again"))))).toMatchObject({
      outcome: "version_conflict",
      actual: 1,
    });
  });
});

describe("an append to several streams", () => {
  test("records all of them, in the order given", async () => {
    const log = bench.log();
    const events = await record(
      log,
      appendOf(write("a", "no_stream", threadCreated, said("one")), write("b", 0, said("two")), write("c", "any")),
    );
    expect(events.map(({ position, stream, version }) => [position, stream, version])).toEqual([
      [1, "a", 1],
      [2, "a", 2],
      [3, "b", 1],
    ]);
  });

  test.each([0, 1, 2])("records none if expectation %d is not met", async (unmet) => {
    const log = bench.log();
    const writes = ["a", "b", "c"].map((stream, index) =>
      write(stream, index === unmet ? "exists" : "no_stream", said("hello")),
    );
    expect(await log.append(appendOf(...writes))).toMatchObject({
      outcome: "version_conflict",
      stream: writes[unmet]!.stream,
    });
    expect(log.readAll(0, 10)).toEqual([]);
  });

  test("records none if one of them cannot be encoded", async () => {
    const log = bench.log();
    const unencodable = { case: "turnPaused", value: { stepsUsed: -1 } } as const;
    await expect(
      log.append(appendOf(write("a", "any", said("one")), write("b", "any", unencodable))),
    ).rejects.toThrow();
    expect(log.readAll(0, 10)).toEqual([]);
    expect(await record(log, appendOf(write("a", "no_stream", said("one"))))).toMatchObject([
      { position: 1, version: 1 },
    ]);
  });

  test("compares every expectation with what was there before it", async () => {
    const log = bench.log();
    const events = await record(log, appendOf(write("a", "no_stream", said("one")), write("a", 0, said("two"))));
    expect(events.map(({ version }) => version)).toEqual([1, 2]);
  });
});

describe("a guard, which is a write without facts,", () => {
  test("lets the append pass while what it read still holds", async () => {
    const log = bench.log();
    await record(log, appendOf(write("thread", "no_stream", threadCreated)));
    expect(await record(log, appendOf(write("message", "any", said("hello")), write("thread", 1)))).toHaveLength(1);
  });

  test("stops the append when somebody else has changed what it read", async () => {
    const log = bench.log();
    await record(log, appendOf(write("thread", "no_stream", threadCreated)));
    await record(log, appendOf(write("thread", 1, { case: "threadDeleted", value: {} })));
    expect(await log.append(appendOf(write("message", "any", said("hello")), write("thread", 1)))).toEqual({
      outcome: "version_conflict",
      stream: "thread",
      expected: 1,
      actual: 2,
    });
    expect(log.readStream("message", 0, 10)).toEqual([]);
  });

  test("alone records nothing", async () => {
    const log = bench.log();
    expect(await record(log, appendOf(write("thread", "no_stream")))).toEqual([]);
    expect(log.head().position).toBe(0);
  });
});
