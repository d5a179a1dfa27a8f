import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { digestOf, toHex } from "../../infra/event-log/chain.js";
import { logFile, openLog, openLogReader, replay, verifyLog } from "../../infra/event-log/index.js";
import type { Head, LogReader, StoredEvent } from "../../infra/event-log/index.js";
import { Verifier } from "../../infra/event-log/verifier.js";
import { fromOwner } from "../support/backend.js";
import { flipsOf, type Flip } from "../support/byte-flips.js";
import { randomFrom, type Random } from "../support/random.js";
import { allRows, tamper, withRawLog } from "../support/raw-log.js";
import { seededEntropy } from "../support/seeded-entropy.js";
import { tamperings } from "../support/tamperings.js";
import type { Finding, OnProgress, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";
import { nextAppend } from "./traffic.js";

const genesis = "0".repeat(64);

/** The case counted is one change; `n` is how many events the log has, all of whose bytes are changed. */
export const logTamper: Proof = {
  name: "log.tamper",
  promise: "tampering is seen, and the first bad position named: every byte, row, order, tail",
  sizes: { small: 60, full: 1_000 },
  run: (n, seed, onProgress) => check(n, seed, acceptedByChain, onProgress),
  control: (n, seed, onProgress) => check(n, seed, acceptedByDigest, onProgress),
};

/** Whether a row passes as the successor of another; if not, the position that is named. */
type Judge = (previous: StoredEvent | undefined, row: StoredEvent) => { accepted: boolean; position: number | null };

function check(events: number, seed: number, judge: Judge, onProgress?: OnProgress): Promise<Finding> {
  return withDirectory(async (directory) => {
    const random = randomFrom(seed);
    const tally = new Tally(onProgress);
    const original = join(directory, "original");
    const head = await makeLog(original, events, random);
    const rows = withRawLog(original, allRows);
    for (const row of rows) {
      if (!judge(rows[row.position - 2], row).accepted) throw new Error(`position ${row.position} is not sound`);
      for (const flip of flipsOf(row, random)) tally.case(judgeFlip(rows, row, flip, judge));
    }
    if (judge === acceptedByDigest) return tally.finding(); // The files have a chain, so only the bytes are compared.
    tally.add("bytes", tally.finding().n);
    for (const [what, change] of Object.entries(tamperings)) {
      for (let time = 0; time < Math.max(3, events / 50); time++) {
        const copy = copyOf(original, directory);
        const expected = tamper(copy, (db) => change(db, rows, random));
        tally.case(await misnamed(copy, head, expected, what));
        tally.add("rows", 1);
      }
    }
    const reader = openLogReader(original);
    const answers = everyAnswer(reader);
    reader.close();
    for (let time = 0; time < events / 2; time++) {
      tally.case(await flipInFile(copyOf(original, directory), head, answers, random));
      tally.add("file bytes", 1);
    }
    return tally.finding();
  });
}

async function makeLog(directory: string, events: number, random: Random): Promise<Head> {
  const log = openLog(directory, seededEntropy(random));
  for (let n = 0; log.head().position < events; n++) {
    await log.append(nextAppend(`a${n}`, random));
    const { position } = log.head();
    if (n % 5 !== 4) continue;
    const first = 1 + random.below(position);
    const ranges = [{ first, last: first + random.below(3) }];
    await log.erase({ occurredAt: Date.UTC(2026, 0, 1), ranges, reason: "forget", provenance: fromOwner });
  }
  const head = log.head();
  log.close();
  return head;
}

function acceptedByChain(previous: StoredEvent | undefined, row: StoredEvent): ReturnType<Judge> {
  const after = { position: previous?.position ?? 0, hash: previous === undefined ? genesis : toHex(previous.hash) };
  const verifier = new Verifier(null, after);
  const accepted = verifier.next({
    ...row,
    command_digest: row.command_digest && toHex(row.command_digest),
    digest: toHex(row.digest),
    hash: toHex(row.hash),
  });
  return { accepted, position: verifier.verdict().problem?.position ?? null };
}

/** Verification without the chain: each event against its own digest. */
function acceptedByDigest(_previous: StoredEvent | undefined, row: StoredEvent): ReturnType<Judge> {
  const { event, salt, digest, position } = row;
  const isErased = event === null && salt === null;
  const accepted = isErased || digestOf(Buffer.concat([salt ?? Buffer.of(), event ?? Buffer.of()])) === toHex(digest);
  return { accepted, position };
}

/** A row that was given another position is met where that position is, by whoever reads in order. */
function judgeFlip(rows: readonly StoredEvent[], row: StoredEvent, { column, row: changed }: Flip, judge: Judge) {
  const isMoved = changed.position !== row.position;
  const isAfterAll = changed.position > rows.length;
  const met = isMoved && isAfterAll ? (rows[row.position] ?? changed) : changed;
  const expected = isMoved && isAfterAll ? row.position : changed.position;
  const { accepted, position } = judge(rows[expected - 2], met);
  if (!accepted && position === expected) return null;
  return `${column} of position ${row.position} changed: ${accepted ? "not seen" : `position ${position} was named`}`;
}

async function misnamed(directory: string, head: Head, expected: number, what: string): Promise<string | null> {
  const reader = openLogReader(directory);
  try {
    const { problem } = await verifyLog(reader, head);
    if (problem?.position === expected) return null;
    return `${what} at position ${expected}: ${problem === null ? "not seen" : `position ${problem.position} was named`}`;
  } finally {
    reader.close();
  }
}

/** A changed byte in the database file is either reported, or harms nobody. */
async function flipInFile(copy: string, head: Head, expected: unknown, random: Random): Promise<string | null> {
  const bytes = readFileSync(logFile(copy));
  const offset = random.below(bytes.length);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 + random.below(255)), offset);
  writeFileSync(logFile(copy), bytes);
  let reader: LogReader;
  try {
    reader = openLogReader(copy);
  } catch {
    return null;
  }
  try {
    const { problem } = await verifyLog(reader, head);
    if (problem !== null) return null;
    return isDeepStrictEqual(everyAnswer(reader), expected) ? null : `byte ${offset} of the file: not seen`;
  } catch (error) {
    return `byte ${offset} of the file: not a verdict, but ${String(error)}`;
  } finally {
    reader.close();
  }
}

/** All that a log answers: by position, by thread, by stream. */
function everyAnswer(log: LogReader): unknown[] {
  const rows = [...replay(log, { afterPosition: 0 })].flat();
  const threads = [...new Set(rows.flatMap(({ thread_id }) => thread_id ?? []))];
  const streams = [...new Set(rows.map(({ stream }) => stream))];
  return [
    rows,
    threads.map((threadId) => [...replay(log, { threadId, afterSequence: 0 })].flat()),
    streams.map((stream) => log.readStream(stream, 0, 1_000)),
  ];
}

let copies = 0;

function copyOf(original: string, directory: string): string {
  const copy = join(directory, `copy-${copies++}`);
  mkdirSync(copy);
  copyFileSync(logFile(original), logFile(copy));
  return copy;
}
