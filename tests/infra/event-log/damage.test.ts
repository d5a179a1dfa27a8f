import { describe, expect, test } from "@jest/globals";
import { readFileSync, writeFileSync } from "node:fs";
import { logFile, openLogReader, replay, verifyLog, type SqliteEventLog } from "../../../infra/event-log/index.js";
import { appendOf, record, recordMany, write } from "../../support/appends.js";
import { openTestLog } from "../../support/backend.js";
import { delta, said } from "../../support/facts.js";
import { allRows, insertRow, tamper, withRawLog } from "../../support/raw-log.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

async function logOf(events: number): Promise<SqliteEventLog> {
  const log = bench.log();
  await recordMany(
    log,
    "s",
    Array.from({ length: events }, (_, n) => delta(`${n}`)),
  );
  return log;
}

async function closedLogOf(events: number): Promise<void> {
  (await logOf(events)).close();
}

describe("a log that is broken at its end", () => {
  test.each([
    [1, 1],
    [2, 1],
    [2, 2],
    [64, 1],
    [64, 64],
    [65, 65],
    [200, 150],
    [200, 200],
  ])("(of %d events, at position %d) is not opened for writing", async (events, position) => {
    await closedLogOf(events);
    tamper(bench.path, (db) => db.exec(`UPDATE events SET hash = randomblob(32) WHERE position = ${position}`));
    const bad = expect.objectContaining({ trouble: "broken", file: logFile(bench.path), position });
    expect(() => openTestLog(bench.path)).toThrow(bad);
    expect(() => openTestLog(bench.path)).toThrow(`${logFile(bench.path)}, position ${position}: `);
  });

  test.each([
    ["changed", "UPDATE events SET event = x'00' WHERE position = 5"],
    ["missing", "DELETE FROM events WHERE position = 5"],
    ["of another stream", "UPDATE events SET stream = 'other' WHERE position = 5"],
  ])("because an event is %s can still be read and verified, and is not changed", async (_what, sql) => {
    await closedLogOf(10);
    tamper(bench.path, (db) => db.exec(sql));
    const before = tamper(bench.path, allRows);
    expect(() => openTestLog(bench.path)).toThrow(expect.objectContaining({ trouble: "broken", position: 5 }));
    const reader = bench.closing(openLogReader(bench.path));
    expect(await verifyLog(reader, null)).toMatchObject({ head: { position: 4 }, problem: { position: 5 } });
    expect(tamper(bench.path, allRows)).toEqual(before);
  });
});

describe("an event that this version cannot read", () => {
  test("because its type is unknown is named with file and position, however it is read", async () => {
    const log = await logOf(3);
    tamper(bench.path, (db) => db.exec("UPDATE events SET type = 'dreamDreamt' WHERE position = 2"));
    const complaint = expect.objectContaining({
      trouble: "foreign",
      file: log.file,
      position: 2,
      message: expect.stringContaining("dreamDreamt"),
    });
    expect(() => log.readStream("s", 0, 10)).toThrow(complaint);
    expect(() => log.decode(log.readAll(1, 1)[0]!)).toThrow(complaint);
  });

  test.each([
    ["are no event", "x'ffff'"],
    ["are empty", "x''"],
    ["are those of another type", "(SELECT event FROM events WHERE position = 3)"],
  ])("because its bytes %s is named with file and position", async (_what, bytes) => {
    const log = await logOf(2);
    await record(log, appendOf(write("s", "any", said("another type"))));
    tamper(bench.path, (db) => db.exec(`UPDATE events SET event = ${bytes} WHERE position = 2`));
    const complaint = expect.objectContaining({ trouble: "broken", file: log.file, position: 2 });
    expect(() => log.readStream("s", 0, 10)).toThrow(complaint);
    expect(log.readAll(0, 10)).toHaveLength(3); // The bytes as such can be had, for whoever investigates.
  });
});

describe("a number beyond 2^53", () => {
  const beyond = "9007199254740993"; // 2^53 + 1, which JavaScript reads as 2^53.
  const broken = expect.objectContaining({ trouble: "broken", message: expect.stringContaining("2^53") });

  /** A row like the last one, but for one column. */
  function insertWith(column: string): void {
    tamper(bench.path, (db) => {
      const columns = Object.keys(allRows(db)[0]!).map((name) => {
        if (name === column) return beyond;
        return { position: "position + 1", version: "version + 1", sequence: "sequence + 1" }[name] ?? name;
      });
      db.exec(`INSERT INTO events SELECT ${columns.join(", ")} FROM events ORDER BY position DESC LIMIT 1`);
    });
  }

  test("as a position is refused, not rounded", async () => {
    const log = await logOf(3);
    insertWith("position");
    expect(() => log.head()).toThrow(broken);
    expect(() => log.readAll(0, 10)).toThrow(broken);
    await expect(log.append(appendOf(write("new", "any", said("hello"))))).rejects.toThrow(broken);
    log.close();
    expect(() => openTestLog(bench.path)).toThrow(broken);
  });

  test("as a position that is not the last of its page is refused, too", async () => {
    const log = await logOf(3);
    insertWith("position");
    tamper(bench.path, (db) => db.exec("UPDATE events SET sequence = 0 WHERE position > 3"));
    expect(() => log.readThread("s", -1, 10)).toThrow(broken);
    log.close();
  });

  test("as a version is refused, not rounded", async () => {
    const log = await logOf(3);
    insertWith("version");
    expect(() => log.readStream("s", 0, 10)).toThrow(broken);
    await expect(log.append(appendOf(write("s", "any", said("hello"))))).rejects.toThrow(broken);
    log.close();
  });

  test("as a sequence is refused, not rounded", async () => {
    const log = await logOf(3);
    insertWith("sequence");
    expect(() => log.readThread("s", 0, 10)).toThrow(broken);
    await expect(log.append(appendOf(write("s", "any", said("hello"))))).rejects.toThrow(broken);
    log.close();
  });

  test("is refused by counting up to it, too", async () => {
    const log = await logOf(3);
    log.close();
    tamper(bench.path, (db) => {
      const last = allRows(db).at(-1)!;
      insertRow(db, { ...last, position: Number.MAX_SAFE_INTEGER, version: 100, sequence: 100 });
    });
    // The tail is broken, so the log is not opened; what is read by key is not mistaken for anything else.
    expect(() => openTestLog(bench.path)).toThrow(expect.objectContaining({ trouble: "broken" }));
    const reader = bench.closing(openLogReader(bench.path));
    expect([...replay(reader, { afterPosition: 3 })].flat()).toMatchObject([{ position: Number.MAX_SAFE_INTEGER }]);
  });

  test("does not hide where the log first went wrong", async () => {
    await closedLogOf(3);
    insertWith("position");
    const reader = bench.closing(openLogReader(bench.path));
    expect((await verifyLog(reader, null)).problem).toMatchObject({ position: 4 });
  });

  test("before the first event does not hide from verification", async () => {
    await closedLogOf(3);
    tamper(bench.path, (db) => {
      insertRow(db, { ...allRows(db)[0]!, position: 0, version: 100, sequence: 100 });
      db.exec("UPDATE events SET position = -9223372036854775808 WHERE position = 0");
    });
    const reader = bench.closing(openLogReader(bench.path));
    expect((await verifyLog(reader, null)).problem).not.toBeNull();
  });
});

describe("an index that tells another story than the table", () => {
  /** The file offset of the first entry in an index that fits into one page. */
  function firstEntryOf(index: string): number {
    const rootPage = withRawLog(bench.path, (db) => {
      return db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(index) as number;
    });
    const page = (rootPage - 1) * 4096;
    return page + readFileSync(logFile(bench.path)).readUInt16BE(page + 8);
  }

  test.each([
    ["in an entry", 5],
    ["so badly that SQLite gives up looking", 1],
  ])("is found by verification: damaged %s", async (_what, byte) => {
    await closedLogOf(3);
    const bytes = readFileSync(logFile(bench.path));
    bytes.writeUInt8(0xb9, firstEntryOf("events_by_thread") + byte);
    writeFileSync(logFile(bench.path), bytes);
    const reader = bench.closing(openLogReader(bench.path));
    const { head, problem } = await verifyLog(reader, null);
    expect(head.position).toBe(3);
    expect(problem).toMatchObject({ position: null });
  });

  test("is found by verification: an entry is missing", async () => {
    await closedLogOf(3);
    tamper(bench.path, (db) => {
      // The index is not told of the change that the table is about to see.
      db.unsafeMode(true);
      db.pragma("writable_schema = ON");
      const sql = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'events_by_thread'").pluck().get() as string;
      db.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'events_by_thread'").run(`${sql} AND sequence <> 2`);
    });
    tamper(bench.path, (db) => db.exec("REINDEX events_by_thread"));
    tamper(bench.path, (db) => {
      db.unsafeMode(true);
      db.pragma("writable_schema = ON");
      db.exec("UPDATE sqlite_schema SET sql = replace(sql, ' AND sequence <> 2', '') WHERE name = 'events_by_thread'");
    });
    const reader = bench.closing(openLogReader(bench.path));
    expect((await verifyLog(reader, null)).problem).toMatchObject({ position: null });
  });
});
