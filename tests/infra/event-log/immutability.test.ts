import { beforeEach, describe, expect, test } from "@jest/globals";
import type { StoredEvent } from "../../../infra/event-log/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner } from "../../support/backend.js";
import { said, threadCreated } from "../../support/facts.js";
import { allRows, withRawLog } from "../../support/raw-log.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const insert = "INSERT INTO events SELECT";
let before: StoredEvent[];

// Position 1 is erased, 2 to 4 are whole, 5 is the record of the erasure.
beforeEach(async () => {
  const log = bench.log();
  await record(log, appendOf(write("a", "any", said("to be erased"))));
  await record(log, { ...appendOf(write("a", "any", threadCreated)), command: { id: "key", asked: 1 } });
  await record(log, appendOf(write("b", "any", said("one")), { ...write("c", "any", said("two")), threadId: null }));
  await log.erase({ occurredAt: noon, ranges: [{ first: 1, last: 1 }], reason: "forget", provenance: fromOwner });
  log.close();
  before = withRawLog(bench.path, allRows);
});

/** A row like position 2 at the end, but for one thing. */
function copyWith(changes: Record<string, string>): string {
  const fresh: Record<string, string | undefined> = {
    position: "6",
    version: "100",
    sequence: "100",
    command_id: "'new'",
    ...changes,
  };
  const columns = Object.keys(before[0]!).map((name) => fresh[name] ?? name);
  return `SELECT ${columns.join(", ")} FROM events WHERE position = 2`;
}

describe("the database itself refuses", () => {
  test.each([
    ["to delete an event", () => "DELETE FROM events WHERE position = 3"],
    ["to delete the last event", () => "DELETE FROM events WHERE position = 5"],
    ["to delete all events", () => "DELETE FROM events"],
    ["to change an event's bytes", () => "UPDATE events SET event = x'00' WHERE position = 3"],
    ["to change a salt", () => "UPDATE events SET salt = x'00' WHERE position = 3"],
    ["to un-erase an event", () => "UPDATE events SET event = x'00', salt = x'00' WHERE position = 1"],
    ["to erase an event by half", () => "UPDATE events SET event = NULL WHERE position = 3"],
    ["to erase a salt alone", () => "UPDATE events SET salt = NULL WHERE position = 3"],
    ["to erase the record of an erasure", () => "UPDATE events SET event = NULL, salt = NULL WHERE position = 5"],
    ["to replace what has this position", () => `INSERT OR REPLACE INTO events ${copyWith({ position: "4" })}`],
    ["to replace what has this version", () => `INSERT OR REPLACE INTO events ${copyWith({ version: "2" })}`],
    ["to replace what has this sequence", () => `INSERT OR REPLACE INTO events ${copyWith({ sequence: "2" })}`],
    ["to replace what has this key", () => `INSERT OR REPLACE INTO events ${copyWith({ command_id: "'key'" })}`],
    [
      "to replace by an upsert",
      () => `${insert} * FROM events WHERE position = 3 ON CONFLICT DO UPDATE SET type = 'x'`,
    ],
    [
      "to update by replacing",
      () => "UPDATE OR REPLACE events SET position = 3, event = NULL, salt = NULL WHERE position = 4",
    ],
    ["to leave a gap", () => `INSERT INTO events ${copyWith({ position: "7" })}`],
    ["to insert before the first", () => `INSERT INTO events ${copyWith({ position: "0" })}`],
    ["to insert far before the first", () => `INSERT INTO events ${copyWith({ position: "-9223372036854775808" })}`],
    ["to let SQLite choose a position", () => `INSERT INTO events ${copyWith({ position: "NULL" })}`],
    ["a thread without a sequence", () => `INSERT INTO events ${copyWith({ sequence: "NULL" })}`],
    ["a text that is a number", () => `INSERT INTO events ${copyWith({ version: "'x'" })}`],
  ])("%s", (_what, sql) => {
    withRawLog(bench.path, (db) => {
      expect(() => db.exec(sql())).toThrow();
    });
    expect(withRawLog(bench.path, allRows)).toEqual(before);
  });

  test.each(["position", "event_id", "stream", "version", "thread_id", "sequence", "type"])("to change %s", changing);
  test.each(["command_id", "command_digest", "command_events", "occurred_at", "digest", "hash"])(
    "to change %s",
    changing,
  );

  function changing(column: string): void {
    for (const position of [1, 2, 5]) {
      withRawLog(bench.path, (db) => {
        const value = db.prepare(`SELECT ${column} FROM events WHERE position = 3`).pluck().get();
        const other = typeof value === "number" ? 1_000 : typeof value === "string" ? "other" : Buffer.from("other");
        const erasing = `UPDATE events SET event = NULL, salt = NULL, ${column} = ? WHERE position = ${position}`;
        expect(() => db.prepare(erasing).run(other)).toThrow();
      });
    }
    expect(withRawLog(bench.path, allRows)).toEqual(before);
  }
});

describe("the database lets pass", () => {
  test("an event at the end, as the control of all the above", () => {
    withRawLog(bench.path, (db) => db.exec(`INSERT INTO events ${copyWith({})}`));
    expect(withRawLog(bench.path, allRows)).toHaveLength(before.length + 1);
  });

  test("an erasure", () => {
    withRawLog(bench.path, (db) => db.exec("UPDATE events SET event = NULL, salt = NULL WHERE position = 3"));
    expect(withRawLog(bench.path, allRows)[2]).toEqual({ ...before[2], event: null, salt: null });
  });
});
