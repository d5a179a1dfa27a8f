import type { Database } from "better-sqlite3";
import type { Provenance } from "../../commands/ports/index.js";
import type { EventType, Instant, RecordedEvent } from "../../domain/shared/index.js";
import type { Appender } from "./appender.js";

export const erasedRangesMax = 1_000;

export interface Erasure {
  readonly occurredAt: Instant;
  /** Inclusive, at most `erasedRangesMax` of them. Positions that are erased already are left out. */
  readonly ranges: readonly { readonly first: number; readonly last: number }[];
  readonly reason: "retention" | "forget";
  readonly provenance: Provenance;
}

/**
 * Who may speak to us, what was erased, and which turns are over must stay known: without the event that revoked it, a
 * device would be back; without the one that ended it, a turn would go on. None of these says more than ids, times, codes,
 * and what a device is called.
 */
const keptTypes: readonly EventType[] = [
  "eventsErased",
  "pairingCodeCreated",
  "devicePaired",
  "deviceRevoked",
  "deviceSeen",
  "tokenIssued",
  "tokenRevoked",
  "turnQueued",
  "turnStarted",
  "turnInterruptRequested",
  "turnPaused",
  "turnResumed",
  "turnCompleted",
  "turnFailed",
];
const erasable = `event IS NOT NULL AND type NOT IN (${keptTypes.map((type) => `'${type}'`).join(", ")})`;

/** The stream of events about the log itself. */
const logStream = "log";

/** Erases and records the erasure. Always called inside the writer's transaction; the caller truncates the WAL. */
export function eraseEvents(db: Database, appender: Appender, erasure: Erasure): RecordedEvent {
  const { ranges, reason, provenance, occurredAt } = erasure;
  if (ranges.length > erasedRangesMax)
    throw new RangeError(`at most ${erasedRangesMax} ranges at once, not ${ranges.length}`);
  const count = db.prepare<[number, number], { thread_id: string | null; type: string; count: number }>(
    `SELECT thread_id, type, count(*) AS count FROM events
     WHERE position BETWEEN ? AND ? AND ${erasable} GROUP BY thread_id, type`,
  );
  const erase = db.prepare(
    `UPDATE events SET event = NULL, salt = NULL WHERE position BETWEEN ? AND ? AND ${erasable}`,
  );
  const head = db.prepare("SELECT ifnull(max(position), 0) FROM events").pluck().get() as number;
  const erased = ranges.map((range) => {
    const first = range.first;
    const last = Math.min(range.last, head); // Nothing is erased before it has happened.
    const counts = count.all(first, last);
    erase.run(first, last);
    return {
      first: BigInt(first),
      last: BigInt(last),
      counts: counts.map((row) => ({ threadId: row.thread_id ?? "", type: row.type, count: BigInt(row.count) })),
    };
  });
  const result = appender.append({
    occurredAt,
    writes: [
      {
        stream: logStream,
        expected: "any",
        threadId: null,
        facts: [{ case: "eventsErased", value: { ranges: erased, reason } }],
        provenance,
      },
    ],
  });
  const recorded = result.outcome === "appended" ? result.events[0] : undefined;
  if (recorded === undefined) throw new Error("an erasure expects nothing and has no key, so nothing can conflict");
  return recorded;
}
