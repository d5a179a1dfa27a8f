import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { logFile, openLog, openLogReader, verifyLog, type Head } from "../../infra/event-log/index.js";
import { randomFrom, type Random } from "../support/random.js";
import { seededEntropy } from "../support/seeded-entropy.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";
import { nextAppend } from "./traffic.js";

const appendsMax = 8;

/** One case: a copy is taken, the log goes on, the copy comes back. Somebody kept the head meanwhile. */
export const logRollback: Proof = {
  name: "log.rollback",
  promise: "an old copy put back in place is seen, and the first lost position named",
  sizes: { small: 20, full: 500 },
  run: checkRollbacks,
  control: null,
};

function checkRollbacks(...[n, seed, onProgress]: Parameters<Check>): ReturnType<Check> {
  return withDirectory(async (directory) => {
    const random = randomFrom(seed);
    const tally = new Tally(onProgress);
    for (let index = 0; index < n; index++) {
      const path = join(directory, `log-${index}`);
      tally.case(await rollBack(path, random));
      rmSync(path, { recursive: true });
    }
    return tally.finding();
  });
}

async function rollBack(path: string, random: Random): Promise<string | null> {
  const copy = join(path, "copy");
  mkdirSync(copy, { recursive: true });
  const old = await goOn(path, random);
  cpSync(logFile(path), logFile(copy));
  const kept = await goOn(path, random);
  cpSync(logFile(copy), logFile(path));
  const lost = `positions ${old.position + 1} to ${kept.position} are lost`;
  const atOnce = await namedPosition(path, kept);
  if (atOnce !== old.position + 1) return `${lost}, and position ${atOnce} was named`;
  // Going on as if nothing had happened does not hide it: the log is as long again, and not the one that was known.
  let position = old.position;
  while (position < kept.position) ({ position } = await goOn(path, random));
  const later = await namedPosition(path, kept);
  return later === kept.position ? null : `${lost}, the log went on, and position ${later} was named`;
}

/** Appends something and answers the head; the file is whole afterwards, without anything beside it. */
async function goOn(path: string, random: Random): Promise<Head> {
  const log = openLog(path, seededEntropy(random));
  const appends = 1 + random.below(appendsMax);
  for (let index = 0; index < appends; index++) await log.append(nextAppend(`a${random.below(2 ** 31)}`, random));
  const head = log.head();
  log.close();
  return head;
}

async function namedPosition(path: string, kept: Head): Promise<number | null> {
  const reader = openLogReader(path);
  try {
    return (await verifyLog(reader, kept)).problem?.position ?? null;
  } finally {
    reader.close();
  }
}
