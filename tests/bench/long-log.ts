import { hash } from "node:crypto";
import { statSync } from "node:fs";
import { fromBinary } from "@bufbuild/protobuf";
import Database from "better-sqlite3";
import { logFile, openLogReader, verifyLog } from "../../infra/event-log/index.js";
import { ReadModelStore, rebuild } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import { ThreadEventSchema } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { quiet } from "../support/backend.js";
import { interleave, perSecond, type Measured, type Trial } from "./measure.js";
import type { Benchmark, Setting } from "./setting.js";

/** What is done with all of a long log. */
export const longLogBenchmarks: readonly Benchmark[] = [
  {
    name: "rebuild.vs_raw",
    bound: { atLeast: 1.5 },
    run: (setting) => compareWithScan(setting, rebuildAll, (event) => fromBinary(ThreadEventSchema, event)),
  },
  {
    name: "log.verify.vs_raw",
    bound: { atLeast: 0.3 },
    run: (setting) => compareWithScan(setting, verifyAll, (event) => hash("sha256", event, "buffer")),
  },
  { name: "log.bytes_per_event", bound: null, run: weigh },
];

async function compareWithScan(
  setting: Setting,
  ours: (directory: string) => Promise<void>,
  withEach: (event: Uint8Array) => unknown,
): Promise<Measured> {
  const directory = await setting.realisticLog();
  const db = new Database(logFile(directory), { readonly: true });
  try {
    const eventCount = db.prepare<[], number>("SELECT max(position) FROM events").pluck().get()!;
    const scan: Trial = () => perSecond(eventCount, () => scanAll(db, withEach));
    const { longRounds } = setting.sizes;
    return await interleave(longRounds, "events/s", () => perSecond(eventCount, () => ours(directory)), scan);
  } finally {
    db.close();
  }
}

/** The fastest way there is: one statement, one column, nothing kept. */
function scanAll(db: Database.Database, withEach: (event: Uint8Array) => unknown): void {
  const events = db.prepare<[], Uint8Array>("SELECT event FROM events ORDER BY position").pluck();
  for (const event of events.iterate()) withEach(event);
}

async function rebuildAll(directory: string): Promise<void> {
  const log = openLogReader(directory);
  const store = ReadModelStore.open(directory, quiet);
  try {
    await rebuild(log, store, projections);
  } finally {
    store.close();
    log.close();
  }
}

async function verifyAll(directory: string): Promise<void> {
  const log = openLogReader(directory);
  try {
    const { problem } = await verifyLog(log, null);
    if (problem !== null) throw new Error(`the log does not verify: ${problem.what}`);
  } finally {
    log.close();
  }
}

/** Indexes, hashes and all, beside what the encoded events alone would take. */
async function weigh(setting: Setting): Promise<Measured> {
  const file = logFile(await setting.realisticLog());
  const db = new Database(file, { readonly: true });
  const average = db.prepare<[], number>("SELECT avg(length(event)) FROM events").pluck().get()!;
  const eventCount = db.prepare<[], number>("SELECT max(position) FROM events").pluck().get()!;
  db.close();
  const ours = statSync(file).size / eventCount;
  return { ours, peer: average, ratio: ours / average, unit: "bytes", extra: { events: eventCount } };
}
