import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { verifyLog } from "../../infra/event-log/index.js";
import { rebuild } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import Database from "better-sqlite3";
import { appendOf, record, write } from "../support/appends.js";
import { fromOwner, openBackend, type Backend } from "../support/backend.js";
import { answered, delta, said, threadCreated, titled } from "../support/facts.js";
import { randomFrom, type Random } from "../support/random.js";
import { dropTriggers } from "../support/raw-log.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { spawnChild } from "./spawned.js";
import { Tally } from "./tally.js";

const threadId = "t";
/** A young file is rearranged more often than an old one, and each time something may be left behind. */
const canariesPerLog = 50;

/** A text that is nowhere else, and where it was said. */
interface Canary {
  readonly text: string;
  readonly position: number;
}

/** More than a rebuild does in one step, so that it can be killed after the first. */
const others = 300;

/**
 * One case is one text: said among others, copied by a rebuild that was killed half way, erased, and looked for in
 * every file, as it is and after a clean stop.
 */
export const forgetBytes: Proof = {
  name: "forget.bytes",
  promise: "forgotten is gone: not a byte of it is left in any file, and the chain still verifies",
  sizes: { small: 100, full: 3_000 },
  run: (...size) => searchForCanaries(eraseProperly, ...size),
  control: (...size) => searchForCanaries(eraseCarelessly, ...size),
};

type Erase = (backend: Backend, canaries: readonly Canary[]) => Promise<void>;

async function searchForCanaries(erase: Erase, ...[n, seed, onProgress]: Parameters<Check>): ReturnType<Check> {
  const random = randomFrom(seed);
  const tally = new Tally(onProgress);
  for (let left = n; left > 0; left -= canariesPerLog) {
    await withDirectory((directory) => searchIn(directory, Math.min(left, canariesPerLog), erase, random, tally));
  }
  return tally.finding();
}

async function searchIn(directory: string, n: number, erase: Erase, random: Random, tally: Tally): Promise<void> {
  const backend = await openBackend(directory);
  const canaries = await singAmongOthers(backend, n, random);
  const before = canariesIn(directory);
  await killRebuild(backend, directory);
  const silent = canaries.find(({ text }) => !before.has(text));
  if (silent !== undefined) throw new Error(`${silent.text} is not even there before it is erased`);
  await erase(backend, canaries);
  const left = canariesIn(directory);
  const { problem } = await verifyLog(backend.log, null);
  // Whatever is done to the files afterwards does not bring anything back.
  await rebuild(backend.log, backend.store, projections);
  backend.close();
  const leftLater = canariesIn(directory);
  for (const { text, position } of canaries) {
    const files = new Set([...(left.get(text) ?? []), ...(leftLater.get(text) ?? [])]);
    for (const file of files) tally.add(`left in ${file}`, 1);
    tally.case(files.size === 0 ? null : `"${text}" of position ${position} is still in ${[...files].join(", ")}`);
  }
  const isAccountedFor = problem === null || erase === eraseCarelessly; // Who is careless leaves no record, either.
  tally.case(isAccountedFor ? null : `the chain is broken at position ${problem.position}: ${problem.what}`);
}

/** What it has copied by then stays behind. */
async function killRebuild({ store }: Backend, directory: string): Promise<void> {
  const child = spawnChild("rebuild-child", { directory });
  await child.said(1);
  child.kill();
  const { stderr } = await child.ended;
  const shadow = store.db.prepare("SELECT name FROM sqlite_schema WHERE name = 'messages__shadow'").get();
  if (shadow === undefined) throw new Error(`the rebuild that was killed left nothing behind: ${stderr}`);
}

/** Canaries of all sizes in every kind of event that is projected, the first of them at the very beginning. */
async function singAmongOthers(backend: Backend, n: number, random: Random): Promise<Canary[]> {
  const canaries: Canary[] = [];
  await record(backend.log, appendOf(write(threadId, "any", threadCreated)));
  for (let index = 0; index < n; index++) {
    const text = `canary-${index}-${random.below(2 ** 31)}-${random.below(2 ** 31)}.`;
    const padding = "x".repeat(random.pick([0, 10, 200, 1_000, 5_000, 20_000]));
    const kind = random.pick([said, answered, titled, delta]);
    const [event] = await record(backend.log, appendOf(write(threadId, "any", kind(`${padding}${text}`))));
    canaries.push({ text, position: event!.position });
    for (let after = random.below(4); after > 0; after--) {
      await record(
        backend.log,
        appendOf(write(threadId, "any", said("y".repeat(random.below(500)), `${index}-${after}`))),
      );
    }
  }
  const more = Array.from({ length: others }, (_, index) => said("z", `more-${index}`));
  await record(backend.log, appendOf(write(threadId, "any", ...more)));
  backend.store.commit();
  return canaries;
}

/** Some by one, and some together with their neighbours. */
async function eraseProperly({ log, projector }: Backend, canaries: readonly Canary[]): Promise<void> {
  for (let from = 0; from < canaries.length; from += 20) {
    const ranges = canaries.slice(from, from + 20).map(({ position }) => ({ first: position, last: position }));
    await log.erase({ occurredAt: Date.UTC(2026, 0, 1), ranges, reason: "forget", provenance: fromOwner });
  }
  await projector.reached(log.head().position);
}

/** The same, but by connections that do not overwrite what they delete, and that leave the journal as it is. */
function eraseCarelessly(backend: Backend, canaries: readonly Canary[]): Promise<void> {
  const careless = (file: string, change: (db: Database.Database, canary: Canary) => void) => {
    const db = new Database(file);
    db.pragma("secure_delete = OFF");
    dropTriggers(db);
    for (const canary of canaries) change(db, canary);
    db.close();
  };
  careless(backend.log.file, (db, { position }) =>
    db.prepare("UPDATE events SET event = NULL, salt = NULL WHERE position = ?").run(position),
  );
  careless(backend.store.file, (db, { position }) =>
    db.prepare("DELETE FROM messages WHERE position = ?").run(position),
  );
  return Promise.resolve();
}

/** Which canaries are in which files, looked for byte by byte. */
function canariesIn(directory: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const name of readdirSync(directory)) {
    const bytes = readFileSync(join(directory, name)).toString("latin1");
    for (const [text] of bytes.matchAll(/canary-\d+-\d+-\d+\./g)) {
      found.set(text, (found.get(text) ?? new Set()).add(name));
    }
  }
  return found;
}
