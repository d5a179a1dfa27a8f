import { openTestLog } from "../support/backend.js";
import { randomFrom } from "../support/random.js";
import { inspectBackend, readAcknowledgements } from "./acknowledged.js";
import type { AppendOrders } from "./append-child.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { spawnChild } from "./spawned.js";
import { Tally } from "./tally.js";
import type { Variant } from "./variants.js";

const writers = ["a", "b"];
const callersMax = 4;
const appendsPerCaller = 60;
const controlRacesMax = 20;

export const logConcurrent: Proof = {
  name: "log.concurrent",
  promise: "two processes never tear the order",
  sizes: { small: 3, full: 60 },
  run: checkRaces("sound"),
  control: (_n, seed, onProgress) => checkRaces("untransacted")(controlRacesMax, seed, onProgress),
};

function checkRaces(variant: Variant): Check {
  return async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    for (let round = 0; round < n; round++) {
      const problem = await withDirectory((directory) => race(directory, variant, seed * 1_000 + round, tally));
      tally.case(problem);
      // A race is a matter of luck: whoever waits for a tear has seen enough with the first.
      if (variant !== "sound" && problem !== null) break;
    }
    return tally.finding();
  };
}

/** Two processes write to one log as fast as they can, and a third one watches. */
async function race(directory: string, variant: Variant, seed: number, tally: Tally): Promise<string | null> {
  openTestLog(directory).close(); // The reader wants something to open.
  const random = randomFrom(seed);
  const reader = spawnChild("tail-child", { directory });
  const children = writers.map((name) => {
    const callers = 2 + random.below(callersMax - 1);
    const orders: AppendOrders = { directory, variant, name, seed, callers, appendsPerCaller, waits: true };
    return spawnChild("append-child", orders);
  });
  try {
    await Promise.all([reader, ...children].map((child) => child.said(1)));
    for (const child of children) child.go();
    const ended = await Promise.all(children.map((child) => child.ended));
    const failed = ended.find(({ code }) => code !== 0);
    if (failed !== undefined) return `a writer ended with ${failed.code}: ${failed.stderr.trim()}`;

    const acknowledged = ended.flatMap(({ lines }) => readAcknowledgements(lines));
    tally.add("acknowledged", acknowledged.length);
    const { problem, lost } = await inspectBackend(directory, acknowledged);
    tally.add("lost", lost);
    const head = Math.max(0, ...acknowledged.flatMap(({ events }) => events?.map(({ position }) => position) ?? []));
    await reader.said(1 + head);
    reader.kill();
    const { lines, stderr } = await reader.ended;
    const missed = lines.slice(1).findIndex((line, index) => Number(line) !== index + 1);
    if (missed !== -1 || lines.length !== 1 + head) {
      return `the reader did not see position ${missed === -1 ? lines.length : missed + 1} of ${head} in its place ${stderr}`;
    }
    return problem;
  } finally {
    for (const child of [reader, ...children]) child.kill();
    await Promise.all([reader, ...children].map(({ ended }) => ended));
  }
}
