import { beforeEach, describe, expect, test } from "@jest/globals";
import { openLogReader, replay, type SqliteEventLog } from "../../../infra/event-log/index.js";
import { pageEventsMax } from "../../../infra/event-log/log-reader.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { openTestLog } from "../../support/backend.js";
import { delta, said, titled } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const events = 2_500;
let log: SqliteEventLog;

// Threads a and b in turn, a hundred events a second; every hundredth is a message, the others are deltas.
beforeEach(async () => {
  log = bench.log();
  const hundred = Array.from({ length: 100 }, (_, n) => write(n % 2 === 0 ? "a" : "b", "any", delta("x")));
  for (let n = 1; n <= events / 100; n++) {
    const writes = hundred.with(99, write("b", "any", said(`${n}`)));
    await record(log, { occurredAt: noon + n * 1_000, writes });
  }
});

describe("reading", () => {
  test("by position starts after the given one and ends at the limit", () => {
    expect(log.readAll(10, 3).map(({ position }) => position)).toEqual([11, 12, 13]);
    expect(log.readAll(events - 1, 3).map(({ position }) => position)).toEqual([events]);
    expect(log.readAll(events, 3)).toEqual([]);
    expect(log.readAll(0, 0)).toEqual([]);
  });

  test("by thread starts after the given sequence and sees no other thread", () => {
    const rows = log.readThread("b", 10, 3);
    expect(rows.map(({ thread_id, sequence, position }) => [thread_id, sequence, position])).toEqual([
      ["b", 11, 22],
      ["b", 12, 24],
      ["b", 13, 26],
    ]);
    expect(log.readThread("b", events, 3)).toEqual([]);
    expect(log.readThread("nobody", 0, 3)).toEqual([]);
  });

  test("by stream starts after the given version", () => {
    const versions = log.readStream("a", 10, 3).map(({ stream, version }) => [stream, version]);
    expect(versions).toEqual([
      ["a", 11],
      ["a", 12],
      ["a", 13],
    ]);
    expect(log.readStream("nothing", 0, 3)).toEqual([]);
  });

  test("never gives more than a page, whatever the limit", () => {
    expect(log.readAll(0, 1_000_000)).toHaveLength(pageEventsMax);
    expect(log.readThread("a", 0, 1_000_000)).toHaveLength(pageEventsMax);
    expect(log.readStream("a", 0, 1_000_000)).toHaveLength(pageEventsMax);
  });

  test("page after page sees every event once", () => {
    const pages = [...replay(log, { afterPosition: 0 })];
    expect(pages.flat().map(({ position }) => position)).toEqual(Array.from({ length: events }, (_, n) => n + 1));
    expect(pages.length).toBeGreaterThan(1);
    const ofThread = [...replay(log, { threadId: "b", afterSequence: 0 })].flat();
    expect(ofThread.map(({ sequence }) => sequence)).toEqual(Array.from({ length: events / 2 }, (_, n) => n + 1));
  });

  test("all but some types finds the others, and says how far it looked", () => {
    const read = log.except(["assistantTextDelta"], 100);
    const page = read(0, events);
    expect(page.events.map(({ position }) => position)).toEqual(Array.from({ length: 25 }, (_, n) => (n + 1) * 100));
    expect(page.throughPosition).toBe(events);
    expect(read(100, 150)).toEqual({ events: [], throughPosition: 150 });
    expect(read(190, 200)).toMatchObject({ events: [{ position: 200 }], throughPosition: 200 });
    expect(read(99, 100)).toMatchObject({ events: [{ position: 100 }], throughPosition: 100 });
  });

  test("all but some types stops at a full page, and goes on from there", () => {
    const read = log.except(["messageCommitted"], 100);
    const positions: number[] = [];
    for (let after = 0; after < events;) {
      const page = read(after, events);
      expect(page.events.length).toBeLessThanOrEqual(100);
      positions.push(...page.events.map(({ position }) => position));
      after = page.throughPosition;
    }
    expect(positions).toEqual(Array.from({ length: events }, (_, n) => n + 1).filter((n) => n % 100 !== 0));
  });

  test("works the same for somebody who may only read", () => {
    const reader = bench.closing(openLogReader(bench.path));
    expect(reader.readAll(0, 10)).toEqual(log.readAll(0, 10));
    expect(reader.head()).toEqual(log.head());
  });
});

describe("the position at a time", () => {
  test.each([
    ["before everything", 999, 0],
    ["of the first events", 1_000, 100],
    ["between two events", 10_500, 1_000],
    ["of an event", 11_000, 1_100],
    ["after everything", events * 1_000, events],
  ])("%s is that of the last event until then", (_what, afterMillis, position) => {
    expect(log.positionAt(new Date(noon + afterMillis).toISOString())).toBe(position);
  });

  test("is that of the last event before the log first went past it, even if a clock went back", async () => {
    await record(log, { ...appendOf(write("a", "any", titled("early"))), occurredAt: noon + 1_000 });
    expect(log.positionAt(new Date(noon + 1_000).toISOString())).toBe(100);
  });
});

describe("the statistics", () => {
  test("count events, streams, threads and types", () => {
    expect(log.stats()).toMatchObject({
      events,
      streams: 2,
      threads: 2,
      erased: 0,
      types: [
        { type: "assistantTextDelta", events: events - 25 },
        { type: "messageCommitted", events: 25 },
      ],
    });
  });

  test("of an empty log are zeros", () => {
    const empty = bench.closing(openTestLog(bench.elsewhere("empty")));
    expect(empty.stats()).toMatchObject({ events: 0, streams: 0, threads: 0, erased: 0, event_bytes: 0, types: [] });
  });
});
