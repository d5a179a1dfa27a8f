import { describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { openLogReader, tail, verifyLog, type SqliteEventLog } from "../../../infra/event-log/index.js";
import { erasedRangesMax } from "../../../infra/event-log/erasure.js";
import type { RecordedEvent } from "../../../domain/shared/index.js";
import { appendOf, noon, record, recordMany, write } from "../../support/appends.js";
import { fromOwner } from "../../support/backend.js";
import { answered, said, threadCreated } from "../../support/facts.js";
import { tamper } from "../../support/raw-log.js";
import {
  turnCompleted,
  turnFailed,
  turnPaused,
  turnQueued,
  turnResumed,
  turnStarted,
} from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** Ten events: in thread a and thread b by turns, a thread created, then messages. */
async function tenEvents(): Promise<SqliteEventLog> {
  const log = bench.log();
  for (const thread of ["a", "b"]) await record(log, appendOf(write(thread, "any", threadCreated)));
  for (let n = 3; n <= 10; n++) {
    await record(
      log,
      appendOf(write(n % 2 === 1 ? "a" : "b", "any", n < 9 ? said(`text ${n}`) : answered(`text ${n}`))),
    );
  }
  return log;
}

function erase(log: SqliteEventLog, ...ranges: [first: number, last: number][]): Promise<RecordedEvent> {
  return log.erase({
    occurredAt: noon,
    ranges: ranges.map(([first, last]) => ({ first, last })),
    reason: "forget",
    provenance: fromOwner,
  });
}

function erasedPositions(log: SqliteEventLog): number[] {
  return log.readAll(0, 1_000).flatMap(({ position, event }) => (event === null ? [position] : []));
}

describe("an erasure", () => {
  test("takes what events said, and leaves that they were there", async () => {
    const log = await tenEvents();
    const before = log.readAll(0, 10);
    await erase(log, [3, 4], [8, 8]);
    expect(erasedPositions(log)).toEqual([3, 4, 8]);
    const expected = before.map((row) =>
      [3, 4, 8].includes(row.position) ? { ...row, event: null, salt: null } : row,
    );
    expect(log.readAll(0, 10)).toEqual(expected);
  });

  test("shows in every way of reading", async () => {
    const log = await tenEvents();
    await erase(log, [3, 3]);
    const erased = { position: 3, stream: "a", version: 2, type: "messageCommitted", payload: null, envelope: null };
    expect(log.readStream("a", 1, 1)).toMatchObject([erased]);
    expect(log.readThread("a", 1, 1)).toMatchObject([{ position: 3, event: null, salt: null }]);
    const page = await tail(log, { afterPosition: 2 }, new AbortController().signal).next();
    expect((page.value ?? [])[0]).toMatchObject({ position: 3, event: null });
    log.close();
    expect(bench.log().readStream("a", 1, 1)).toMatchObject([erased]);
  });

  test("is an event itself, which says what and how many", async () => {
    const log = await tenEvents();
    const recorded = await erase(log, [2, 4], [9, 9]);
    expect(recorded).toMatchObject({ position: 11, stream: "log", version: 1, threadId: null, type: "eventsErased" });
    expect(recorded.payload).toMatchObject({
      reason: "forget",
      ranges: [
        {
          first: 2n,
          last: 4n,
          counts: [
            { threadId: "a", type: "messageCommitted", count: 1n },
            { threadId: "b", type: "messageCommitted", count: 1n },
            { threadId: "b", type: "threadCreated", count: 1n },
          ],
        },
        { first: 9n, last: 9n, counts: [{ threadId: "a", type: "assistantMessageCommitted", count: 1n }] },
      ],
    });
  });

  test("counts nothing twice: what is erased already is left out", async () => {
    const log = await tenEvents();
    await erase(log, [3, 4]);
    const again = await erase(log, [3, 5], [5, 5]);
    expect(again.payload).toMatchObject({
      ranges: [{ counts: [{ threadId: "a", type: "messageCommitted", count: 1n }] }, { counts: [] }],
    });
  });

  test("leaves the chain whole", async () => {
    const log = await tenEvents();
    const known = log.head();
    await erase(log, [1, 10]);
    await record(log, appendOf(write("a", "any", said("after"))));
    await erase(log, [12, 12]);
    expect(await verifyLog(log, known)).toEqual({ head: log.head(), erasedEvents: 11, problem: null });
    log.close();
    expect(bench.log().head().position).toBe(13);
  });

  test("does not erase the record of an erasure", async () => {
    const log = await tenEvents();
    await erase(log, [3, 3]);
    await erase(log, [1, 11]);
    expect(erasedPositions(log)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(log.readStream("log", 0, 10)).toHaveLength(2);
    expect(await verifyLog(log, null)).toMatchObject({ problem: null });
  });

  test("leaves which turns began, waited and ended: without that, one of them would go on", async () => {
    const log = bench.log();
    const kept = [
      ...[turnQueued("a"), turnStarted("a"), turnPaused("a"), turnResumed("a"), turnCompleted("x"), turnFailed("cut")],
      { case: "turnInterruptRequested", value: { turnId: "a" } } as const,
    ];
    await record(log, appendOf(write("a", "any", said("Hello"), ...kept, answered("Hi"))));
    const event = await erase(log, [1, 9]);
    expect(erasedPositions(log)).toEqual([1, 9]);
    expect(event.payload).toMatchObject({
      ranges: [
        {
          counts: [
            { type: "assistantMessageCommitted", count: 1n },
            { type: "messageCommitted", count: 1n },
          ],
        },
      ],
    });
    expect(await verifyLog(log, null)).toMatchObject({ problem: null });
  });

  test("is announced like any other growth", async () => {
    const log = await tenEvents();
    const announced: number[] = [];
    log.grown.subscribe((position) => announced.push(position));
    await erase(log, [3, 3]);
    expect(announced).toEqual([11]);
  });

  test("waits while another process writes", async () => {
    const log = await tenEvents();
    const other = bench.closing(new Database(log.file));
    other.exec("BEGIN IMMEDIATE");
    const erased = erase(log, [3, 3]);
    expect(erasedPositions(log)).toEqual([]);
    other.exec("ROLLBACK");
    expect(await erased).toMatchObject({ position: 11 });
    expect(erasedPositions(log)).toEqual([3]);
  });

  test.each<[string, [number, number][]]>([
    ["before the first event", [[-1, 3]]],
    ["at half a position", [[1.5, 3]]],
    ["of too many ranges", Array.from({ length: erasedRangesMax + 1 }, () => [3, 3])],
  ])("%s is refused, and nothing is erased or recorded", async (_what, ranges) => {
    const log = await tenEvents();
    await expect(erase(log, ...ranges)).rejects.toThrow();
    expect(erasedPositions(log)).toEqual([]);
    expect(log.head().position).toBe(10);
    expect(await record(log, appendOf(write("a", "any", said("after"))))).toMatchObject([{ position: 11 }]);
  });

  test("leaves no byte in the log's files, even while somebody else was reading", async () => {
    const log = bench.log();
    const canary = "the-canary-sang-at-noon";
    await recordMany(log, "a", [said(canary), said("other")]);
    const reader = bench.closing(new Database(log.file, { readonly: true }));
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM events").get();
    const erased = erase(log, [1, 1]);
    reader.exec("COMMIT");
    await erased;
    for (const file of [log.file, `${log.file}-wal`])
      expect([file, readFileSync(file).includes(canary)]).toEqual([file, false]);
  });
});

describe("what an erasure leaves", () => {
  test("holds no byte of it, although the file has been rearranged since", async () => {
    const log = bench.log();
    const canary = "the-canary-sang-first";
    await recordMany(log, "a", [said(canary), ...Array.from({ length: 100 }, (_, n) => said(`${n}`))]);
    await erase(log, [1, 1]);
    for (const file of [log.file, `${log.file}-wal`]) {
      expect([file, readFileSync(file).includes(canary)]).toEqual([file, false]);
    }
  });

  test("does not confirm a guess at what was said", async () => {
    const log = bench.log();
    const asked = { text: "yes" };
    await record(log, { ...appendOf(write("a", "any", said("yes"))), command: { id: "key", asked } });
    await erase(log, [1, 1]);
    const guess = hash("sha256", JSON.stringify(asked));
    const left = (Object.values(log.readAll(0, 1)[0]!) as unknown[]).map((value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
    );
    expect(left).not.toContain(guess);
  });
});

describe("an event that is gone without a record of it", () => {
  test.each([1, 5, 10])("at position %d is found", async (position) => {
    const log = await tenEvents();
    tamper(bench.path, (db) => db.exec(`UPDATE events SET event = NULL, salt = NULL WHERE position = ${position}`));
    expect((await verifyLog(log, null)).problem).toEqual({
      position,
      what: "the event was erased, and nothing says why",
    });
  });

  test("is found although an erasure before it spoke of everything to come", async () => {
    const log = await tenEvents();
    await erase(log, [3, Number.MAX_SAFE_INTEGER]);
    await recordMany(log, "a", [said("later"), said("last")]);
    expect((await verifyLog(log, null)).problem).toBeNull();
    tamper(bench.path, (db) => db.exec("UPDATE events SET event = NULL, salt = NULL WHERE position = 12"));
    expect((await verifyLog(log, null)).problem).toMatchObject({ position: 12 });
  });

  test("is found although an erasure after it speaks of others", async () => {
    const log = await tenEvents();
    tamper(bench.path, (db) => db.exec("UPDATE events SET event = NULL, salt = NULL WHERE position = 5"));
    await erase(log, [3, 4], [6, 7]);
    expect((await verifyLog(log, null)).problem).toMatchObject({ position: 5 });
  });

  test("keeps a log from being opened for writing, if it is near the end", async () => {
    (await tenEvents()).close();
    tamper(bench.path, (db) => db.exec("UPDATE events SET event = NULL, salt = NULL WHERE position = 5"));
    expect(() => bench.log()).toThrow(expect.objectContaining({ trouble: "broken", position: 5 }));
    bench.closing(openLogReader(bench.path));
  });

  test("is found in the record of an erasure, too", async () => {
    const log = await tenEvents();
    await erase(log, [3, 3]);
    tamper(bench.path, (db) => db.exec("UPDATE events SET event = NULL, salt = NULL WHERE position = 11"));
    expect((await verifyLog(log, null)).problem).toEqual({ position: 11, what: "the record of an erasure was erased" });
  });
});
