import { describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { setImmediate as round } from "node:timers/promises";
import type { Append } from "../../../commands/ports/index.js";
import { appendEventsMax, eventBytesMax } from "../../../infra/event-log/appender.js";
import { verifyLog } from "../../../infra/event-log/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import { delta, said } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const queuedAppendsMax = 10_000;
const troublesome: [string, Append][] = [
  ["an oversized event", appendOf(write("big", "any", said("x".repeat(eventBytesMax))))],
  ["a number out of range", appendOf(write("bad", "any", { case: "turnPaused", value: { stepsUsed: 2 ** 32 } }))],
  ["too many events", appendOf(write("many", "any", ...Array.from({ length: appendEventsMax + 1 }, () => delta("x"))))],
  ["a time that is none", { ...appendOf(write("late", "any", said("x"))), occurredAt: NaN }],
  [
    "a later event that is bad",
    appendOf(write("half", "any", said("x"), { case: "turnPaused", value: { stepsUsed: -1 } })),
  ],
  ["what was asked is no JSON", { ...appendOf(write("a", "any", said("x"))), command: { id: "k", asked: NaN } }],
];

describe("64 appends at once", () => {
  test("share one transaction", async () => {
    const log = bench.log();
    let commits = 0;
    log.grown.subscribe(() => commits++);
    await Promise.all(Array.from({ length: 64 }, (_, n) => record(log, appendOf(write(`s-${n}`, "any", said("x"))))));
    expect(commits).toBe(1);
    expect(log.head().position).toBe(64);
  });

  test("are answered and recorded in the order in which they came", async () => {
    const log = bench.log();
    const answers: number[] = [];
    const events = await Promise.all(
      Array.from({ length: 64 }, async (_, n) => {
        const [event] = await record(log, appendOf(write("s", n, said(`${n}`))));
        answers.push(n);
        return event!;
      }),
    );
    expect(events.map(({ position }) => position)).toEqual(Array.from({ length: 64 }, (_, n) => n + 1));
    expect(answers).toEqual(Array.from({ length: 64 }, (_, n) => n));
  });

  test("contain a conflict that fails alone", async () => {
    const log = bench.log();
    const results = await Promise.all(
      Array.from({ length: 64 }, (_, n) => log.append(appendOf(write("s", n === 31 ? 7 : "any", said(`${n}`))))),
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 64 }, (_, n) => (n === 31 ? "version_conflict" : "appended")),
    );
    expect(log.readStream("s", 0, 100).map(({ version }) => version)).toEqual(
      Array.from({ length: 63 }, (_, n) => n + 1),
    );
  });

  test.each(troublesome)("contain %s, which fails alone", async (_what, bad) => {
    const log = bench.log();
    const results = await Promise.allSettled(
      Array.from({ length: 64 }, (_, n) => log.append(n === 31 ? bad : appendOf(write("s", "any", said(`${n}`))))),
    );
    expect(results.map(({ status }) => status)).toEqual(
      Array.from({ length: 64 }, (_, n) => (n === 31 ? "rejected" : "fulfilled")),
    );
    const texts = log.readAll(0, 100).map((row) => log.decode(row).payload);
    expect(texts).toMatchObject(Array.from({ length: 64 }, (_, n) => ({ text: `${n}` })).filter((_, n) => n !== 31));
    expect(await verifyLog(log, null)).toMatchObject({ problem: null, head: { position: 63 } });
  });

  test("tell subscribers what was recorded, not what failed", async () => {
    const log = bench.log();
    const told: unknown[] = [];
    log.grown.subscribe((position) => told.push([position, log.fresh(0)?.events.map(({ stream }) => stream)]));
    await Promise.allSettled([
      log.append(appendOf(write("a", "any", said("x")))),
      log.append(troublesome[4]![1]),
      log.append(appendOf(write("b", "any", said("x")))),
    ]);
    expect(told).toEqual([[2, ["a", "b"]]]);
  });
});

describe("a lone append", () => {
  test.each(troublesome)("with %s is refused and poisons nothing", async (_what, bad) => {
    const log = bench.log();
    await record(log, appendOf(write("s", "any", said("before"))));
    await expect(log.append(bad)).rejects.toThrow();
    expect(await record(log, appendOf(write("s", 1, said("after"))))).toMatchObject([{ position: 2, version: 2 }]);
    expect(await verifyLog(log, null)).toMatchObject({ problem: null, head: { position: 2 } });
  });

  test("may hold as many events, and events as large, as the limits say", async () => {
    const log = bench.log();
    const facts = Array.from({ length: appendEventsMax }, () => delta("x"));
    expect(await record(log, appendOf(write("many", "any", ...facts)))).toHaveLength(appendEventsMax);
    const envelopeBytes = 1_000;
    const large = said("x".repeat(eventBytesMax - envelopeBytes), "m");
    expect(await record(log, appendOf(write("big", "any", large)))).toHaveLength(1);
  });
});

describe("the queue", () => {
  test("has an end: beyond it, appends are refused at once and the others go through", async () => {
    const log = bench.log();
    const appends = Array.from({ length: queuedAppendsMax + 2 }, () => log.append(appendOf(write("s", "no_stream"))));
    const results = await Promise.allSettled(appends);
    const refused = results.flatMap((result, n) => (result.status === "rejected" ? [[n, result.reason]] : []));
    expect(refused).toMatchObject([
      [queuedAppendsMax, { trouble: "overloaded", file: log.file }],
      [queuedAppendsMax + 1, { trouble: "overloaded" }],
    ]);
    expect(await record(log, appendOf(write("s", "no_stream", said("x"))))).toHaveLength(1);
  });

  test("waits while another process writes, and then goes on", async () => {
    const log = bench.log();
    const other = bench.closing(new Database(log.file));
    other.exec("BEGIN IMMEDIATE");
    const appended = record(log, appendOf(write("s", "any", said("x"))));
    await round();
    await round(); // The first attempt has found the log locked.
    expect(log.head().position).toBe(0);
    other.exec("ROLLBACK");
    expect(await appended).toMatchObject([{ position: 1 }]);
  });

  test("is refused when the log is closed", async () => {
    const log = bench.log();
    const refused = expect(log.append(appendOf(write("s", "any", said("x"))))).rejects.toMatchObject({
      trouble: "unavailable",
    });
    log.close();
    await refused;
    await expect(log.append(appendOf(write("s", "any", said("x"))))).rejects.toMatchObject({ trouble: "unavailable" });
    expect(bench.log().head().position).toBe(0);
  });
});
