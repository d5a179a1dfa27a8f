import { statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import Database from "better-sqlite3";
import { logFile, openLogReader, tail, type LogReader } from "../../infra/event-log/index.js";
import { openBackend } from "../support/backend.js";
import { randomFrom } from "../support/random.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";
import { nextAppend } from "./traffic.js";

/** SQLite copies the WAL back at 1000 pages of 4 KiB; twice that leaves room for a writer that comes in between. */
const walBytesMax = 2 * 1_000 * 4_096;
const callers = 8;
const slowReaders = 4;
const slowMillis = 20;

export const walBounded: Proof = {
  name: "wal.bounded",
  promise: "the WAL stays bounded",
  sizes: { small: 3_000, full: 60_000 },
  run: checkTraffic(readSlowly),
  control: (n, seed, onProgress) => checkTraffic(readWithOpenIterator)(Math.min(n, 6_000), seed, onProgress),
};

/** Reads the log in its own way until the signal. */
type Reading = (directory: string, log: LogReader, signal: AbortSignal) => Promise<void>;

function checkTraffic(read: Reading): Check {
  return (n, seed, onProgress) =>
    withDirectory(async (directory) => {
      const tally = new Tally(onProgress);
      const backend = await openBackend(directory);
      const { log } = backend;
      const done = new AbortController();
      const names = Array.from({ length: n }, (_, index) => `w${index}`).values();
      const call = async (_: unknown, caller: number) => {
        const random = randomFrom(seed * 31 + caller);
        for (const name of names) {
          await log.append(nextAppend(name, random));
          const walBytes = statSync(`${logFile(directory)}-wal`).size;
          tally.max("max MB", Math.round(walBytes / 10_000) / 100);
          tally.case(walBytes <= walBytesMax ? null : `after ${name} the WAL had ${walBytes} bytes`);
        }
      };
      try {
        const reading = read(directory, log, done.signal);
        await Promise.all(Array.from({ length: callers }, call));
        done.abort();
        await reading;
      } finally {
        done.abort();
        backend.close();
      }
      return tally.finding();
    });
}

/** Watchers who take their time after every page, some on the writer's connection, some on one of their own. */
async function readSlowly(directory: string, log: LogReader, signal: AbortSignal): Promise<void> {
  const other = openLogReader(directory);
  const follow = async (reader: LogReader) => {
    for await (const _ of tail(reader, { afterPosition: 0 }, signal)) await pause(slowMillis);
  };
  const readers = Array.from({ length: slowReaders }, (_, index) => follow(index % 2 === 0 ? log : other));
  try {
    await Promise.all(readers);
  } finally {
    other.close();
  }
}

async function readWithOpenIterator(directory: string, _log: LogReader, signal: AbortSignal): Promise<void> {
  const db = new Database(logFile(directory), { readonly: true });
  try {
    for (const _ of db.prepare("SELECT * FROM sqlite_schema").iterate()) {
      while (!signal.aborted) await pause(slowMillis);
    }
  } finally {
    db.close();
  }
}
