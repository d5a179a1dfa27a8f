import type Database from "better-sqlite3";
import type { StoredEvent } from "../../infra/event-log/index.js";
import { insertRow } from "./raw-log.js";
import type { Random } from "./random.js";

/** Changes a log's table, and answers the first position at which it is no longer what was written. */
export type Tampering = (db: Database.Database, rows: readonly StoredEvent[], random: Random) => number;

/** Rows that say something and are not the record of an erasure. */
function whole(rows: readonly StoredEvent[]): StoredEvent[] {
  return rows.filter(({ event, type }) => event !== null && type !== "eventsErased");
}

function twoOf(rows: readonly StoredEvent[], random: Random): [StoredEvent, StoredEvent] {
  const first = random.below(rows.length - 1);
  return [rows[first]!, rows[first + 1 + random.below(rows.length - first - 1)]!];
}

/** A copy that the table takes: nothing in it is unique that was so before. */
function copyOf(row: StoredEvent, position: number): StoredEvent {
  return { ...row, position, version: 1_000_000, sequence: row.sequence && 1_000_000, ...noCommand };
}

const noCommand = { command_id: null, command_digest: null, command_events: null };

function exchange(
  db: Database.Database,
  columns: readonly (keyof StoredEvent)[],
  a: StoredEvent,
  b: StoredEvent,
): void {
  const change = db.prepare(`UPDATE events SET ${columns.map((name) => `${name} = ?`).join(", ")} WHERE position = ?`);
  change.run(...columns.map((name) => b[name]), a.position);
  change.run(...columns.map((name) => a[name]), b.position);
}

/** The bytes of salt and event together stay the same, and so does their digest. */
function moveBoundary(db: Database.Database, { position, salt, event }: StoredEvent, by: number): number {
  const salted = Buffer.concat([salt!, event!]);
  const saltEnd = salt!.length + by;
  db.prepare("UPDATE events SET salt = ?, event = ? WHERE position = ?").run(
    salted.subarray(0, saltEnd),
    salted.subarray(saltEnd),
    position,
  );
  return position;
}

export const tamperings: Readonly<Record<string, Tampering>> = {
  "an event is deleted": (db, rows, random) => {
    const { position } = random.pick(rows);
    db.prepare("DELETE FROM events WHERE position = ?").run(position);
    return position;
  },
  "the tail is cut": (db, rows, random) => {
    const { position } = random.pick(rows);
    db.prepare("DELETE FROM events WHERE position >= ?").run(position);
    return position;
  },
  "everything is deleted": (db) => {
    db.exec("DELETE FROM events");
    return 1;
  },
  "an event is added at the end": (db, rows, random) => {
    insertRow(db, copyOf(random.pick(rows), rows.length + 1));
    return rows.length + 1;
  },
  "an event is added far after the end": (db, rows, random) => {
    insertRow(db, copyOf(random.pick(rows), rows.length + 2 + random.below(2 ** 31)));
    return rows.length + 1;
  },
  "an event is added before the first": (db, rows, random) => {
    const position = -random.below(2 ** 31);
    insertRow(db, copyOf(random.pick(rows), position));
    return position;
  },
  "an event is added in between, and the others make room": (db, rows, random) => {
    const { position } = random.pick(rows);
    db.prepare("UPDATE events SET position = -position - 1 WHERE position >= ?").run(position);
    db.exec("UPDATE events SET position = -position WHERE position < 0");
    insertRow(db, copyOf(random.pick(rows), position));
    return position;
  },
  "an event is deleted, and the others close the gap": (db, rows, random) => {
    const { position } = random.pick(rows);
    db.prepare("DELETE FROM events WHERE position = ?").run(position);
    db.prepare("UPDATE events SET position = -position + 1 WHERE position > ?").run(position);
    db.exec("UPDATE events SET position = -position WHERE position < 0");
    return position;
  },
  "two events change places": (db, rows, random) => {
    const [a, b] = twoOf(rows, random);
    const move = db.prepare("UPDATE events SET position = ? WHERE position = ?");
    move.run(0, a.position);
    move.run(a.position, b.position);
    move.run(b.position, 0);
    return a.position;
  },
  "two events exchange what they say": (db, rows, random) => {
    const [a, b] = twoOf(whole(rows), random);
    exchange(db, ["event", "salt"], a, b);
    return a.position;
  },
  "two events exchange what they say and its digest": (db, rows, random) => {
    const [a, b] = twoOf(whole(rows), random);
    exchange(db, ["event", "salt", "digest"], a, b);
    return a.position;
  },
  "two events exchange their hashes": (db, rows, random) => {
    const [a, b] = twoOf(rows, random);
    exchange(db, ["hash"], a, b);
    return a.position;
  },
  "a byte moves from the event to the salt": (db, rows, random) => moveBoundary(db, random.pick(whole(rows)), 1),
  "a byte moves from the salt to the event": (db, rows, random) => moveBoundary(db, random.pick(whole(rows)), -1),
  "an event is erased, and nothing says so": (db, rows, random) => {
    const { position } = random.pick(whole(rows));
    db.prepare("UPDATE events SET event = NULL, salt = NULL WHERE position = ?").run(position);
    return position;
  },
  "an event is un-erased with other words": (db, rows, random) => {
    const { position } = random.pick(rows.filter(({ event }) => event === null));
    const { event, salt } = random.pick(whole(rows));
    db.prepare("UPDATE events SET event = ?, salt = ? WHERE position = ?").run(event, salt, position);
    return position;
  },
  "the record of an erasure is erased": (db, rows, random) => {
    const { position } = random.pick(rows.filter(({ type }) => type === "eventsErased"));
    db.prepare("UPDATE events SET event = NULL, salt = NULL WHERE position = ?").run(position);
    return position;
  },
};
