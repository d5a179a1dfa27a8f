import { describe, expect, test } from "@jest/globals";
import { setImmediate as round } from "node:timers/promises";
import {
  openLogReader,
  tail,
  type Cursor,
  type LogReader,
  type SqliteEventLog,
} from "../../../infra/event-log/index.js";
import { appendOf, record, recordMany, write } from "../../support/appends.js";
import { forget } from "../../support/conversation.js";
import { delta, said } from "../../support/facts.js";
import { withRawLog } from "../../support/raw-log.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const fromStart: Cursor = { afterPosition: 0 };

/** Reads a tail until it has seen so many events; between pages, it does what it is told. */
async function follow(
  log: LogReader,
  from: Cursor,
  events: number,
  betweenPages: () => Promise<unknown> = () => Promise.resolve(),
): Promise<number[]> {
  const stop = new AbortController();
  const seen: number[] = [];
  for await (const page of tail(log, from, stop.signal)) {
    seen.push(...page.map((row) => ("threadId" in from ? row.sequence! : row.position)));
    if (seen.length >= events) stop.abort();
    else await betweenPages();
  }
  return seen;
}

function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
}

function deltas(count: number) {
  return Array.from({ length: count }, (_, n) => delta(`${n}`));
}

describe("a tail", () => {
  test("replays what is there, then goes on with what comes, without gap or duplicate", async () => {
    const log = bench.log();
    await recordMany(log, "a", deltas(1_500));
    let appended = 0;
    const seen = await follow(log, fromStart, 1_600, async () => {
      // One more while it is still replaying, and one more each time it has caught up.
      if (appended++ < 100) await record(log, appendOf(write("a", "any", said(`${appended}`))));
    });
    expect(seen).toEqual(upTo(1_600));
  });

  test("of a thread sees that thread's sequence, and nothing else", async () => {
    const log = bench.log();
    const seen = follow(log, { threadId: "b", afterSequence: 0 }, 20);
    for (let n = 0; n < 20; n++) {
      await Promise.all(["a", "b", "c"].map((stream) => record(log, appendOf(write(stream, "any", delta("x"))))));
    }
    expect(await seen).toEqual(upTo(20));
  });

  // An erasure commits at once, in the middle of whatever else is going on; it must not fall between two stools.
  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])("sees what is committed %d steps after it began to wait", async (steps) => {
    const log = bench.log();
    await recordMany(log, "a", deltas(1));
    const stop = new AbortController();
    const next = tail(log, { afterPosition: 1 }, stop.signal).next();
    for (let step = 0; step < steps; step++) await Promise.resolve();
    await forget({ log }, 1);
    await round();
    stop.abort();
    expect((await next).value).toMatchObject([{ position: 2 }]);
  });

  test("starts after the cursor it is given", async () => {
    const log = bench.log();
    await recordMany(log, "a", deltas(10));
    expect(await follow(log, { afterPosition: 7 }, 3)).toEqual([8, 9, 10]);
    expect(await follow(log, { threadId: "a", afterSequence: 9 }, 1)).toEqual([10]);
  });

  test("does not hold up another that is slower", async () => {
    const log = bench.log();
    let released: () => void = () => undefined;
    const release = new Promise<void>((resolve) => (released = resolve));
    const slow = follow(log, fromStart, 200, () => release);
    const fast = follow(log, fromStart, 200);
    await recordMany(log, "a", deltas(1));
    for (let n = 1; n < 200; n++) await record(log, appendOf(write("a", "any", delta("x"))));
    expect(await fast).toEqual(upTo(200));
    released();
    expect(await slow).toEqual(upTo(200));
  });

  test("ends when it is told to, while it waits", async () => {
    const log = bench.log();
    const stop = new AbortController();
    const next = tail(log, fromStart, stop.signal).next();
    await round();
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  test("ends when it is told to, while it replays", async () => {
    const log = bench.log();
    await recordMany(log, "a", deltas(1_001));
    const stop = new AbortController();
    const pages = tail(log, fromStart, stop.signal);
    await pages.next();
    stop.abort();
    expect(await pages.next()).toEqual({ done: true, value: undefined });
  });

  test("does not begin when it was told to end before", async () => {
    const log = bench.log();
    await recordMany(log, "a", deltas(1));
    expect(await tail(log, fromStart, AbortSignal.abort()).next()).toEqual({ done: true, value: undefined });
  });

  test("ends when the log is closed, while it waits", async () => {
    const log = bench.log();
    const next = tail(log, fromStart, new AbortController().signal).next();
    await round();
    log.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  test("ends when the log is closed, while somebody looks at a page", async () => {
    const log = bench.log();
    await recordMany(log, "a", deltas(1_001));
    const pages = tail(log, fromStart, new AbortController().signal);
    await pages.next();
    log.close();
    expect(await pages.next()).toEqual({ done: true, value: undefined });
  });

  test("fails when the log has failed", async () => {
    const log = bench.log();
    await recordMany(log, "a", deltas(1));
    const waiting = tail(log, { afterPosition: 1 }, new AbortController().signal).next();
    await round();
    await breakWhileOpen(log);
    await expect(waiting).rejects.toMatchObject({ trouble: "failed", file: log.file });
  });

  test("sees what another process writes", async () => {
    const [here, there] = [bench.log(), bench.log()];
    const seen = follow(here, fromStart, 30);
    for (let n = 0; n < 10; n++) {
      await record(there, appendOf(write("a", "any", delta("there"))));
      await record(here, appendOf(write("a", "any", delta("here"))));
      await record(there, appendOf(write("b", "any", delta("there"))));
    }
    expect(await seen).toEqual(upTo(30));
  });

  test("sees what another process writes, for somebody who may only read", async () => {
    const there = bench.log();
    const reader = bench.closing(openLogReader(bench.path));
    const seen = follow(reader, fromStart, 3);
    for (let n = 0; n < 3; n++) await record(there, appendOf(write("a", "any", delta("x"))));
    expect(await seen).toEqual([1, 2, 3]);
  });
});

describe("growth", () => {
  test("is announced once for each commit, with the position that was reached", async () => {
    const log = bench.log();
    const announced: number[] = [];
    log.grown.subscribe((position) => announced.push(position));
    await recordMany(log, "a", deltas(3));
    await record(log, appendOf(write("a", "any", delta("x"))));
    await log.append(appendOf(write("a", "no_stream", delta("conflict"))));
    log.noticeForeignCommits();
    expect(announced).toEqual([3, 4]);
  });

  test("is announced when another process has written", async () => {
    const [here, there] = [bench.log(), bench.log()];
    const announced: number[] = [];
    here.grown.subscribe((position) => announced.push(position));
    await recordMany(there, "a", deltas(3));
    here.noticeForeignCommits();
    expect(announced).toEqual([3]);
  });

  test("errors, and does not throw at the clock, when the log cannot be read any more", () => {
    const log = bench.log();
    const told: unknown[] = [];
    log.grown.subscribe({ error: (error: unknown) => told.push(error) });
    withRawLog(bench.path, (db) => db.exec("DROP TABLE events"));
    expect(() => log.noticeForeignCommits()).not.toThrow();
    log.close();
    expect(told).toMatchObject([{ file: log.file }]);
  });
});

async function breakWhileOpen(log: SqliteEventLog): Promise<void> {
  withRawLog(bench.path, (db) => db.exec("DROP TABLE events"));
  await expect(log.append(appendOf(write("a", "any", said("lost"))))).rejects.toMatchObject({ trouble: "failed" });
  await expect(log.append(appendOf(write("a", "any", said("lost"))))).rejects.toMatchObject({ trouble: "failed" });
}
