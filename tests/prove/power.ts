import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { randomFrom } from "../support/random.js";
import { inspectBackend, inspectLog, readAcknowledgements, type Acknowledgement } from "./acknowledged.js";
import type { AppendOrders } from "./append-child.js";
import { parseTrace, recorder, straceUnavailable, type Step } from "./disk-trace.js";
import { Disk } from "./power-cut.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { spawnChild } from "./spawned.js";
import { Tally } from "./tally.js";
import type { Variant } from "./variants.js";

/** Power cuts that are tried on one recorded run. */
const cutsPerTrace = 50;
/** Enough for the WAL to be checkpointed and begun anew. */
const appends = 450;

export const logPower: Proof = {
  name: "log.power",
  promise: "acknowledged survives a power cut",
  sizes: { small: 25, full: 1_000 },
  unavailable: straceUnavailable,
  run: checkPowerCuts("sound"),
  control: (n, seed, onProgress) => checkPowerCuts("unsynced")(Math.ceil(n / 4), seed, onProgress),
};

function checkPowerCuts(variant: Variant): Check {
  return async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    for (let done = 0; done < n; done += cutsPerTrace) {
      await withDirectory((root) => cutOneRun(root, variant, Math.min(cutsPerTrace, n - done), seed + done, tally));
    }
    return tally.finding();
  };
}

async function cutOneRun(root: string, variant: Variant, cuts: number, seed: number, tally: Tally): Promise<void> {
  const random = randomFrom(seed);
  const steps = await record(root, variant, seed);
  const moments = new Set<number>();
  while (moments.size < Math.min(cuts, steps.length)) moments.add(1 + random.below(steps.length));
  tally.add("recorded writes", steps.filter(({ does }) => does === "write").length);
  const disk = new Disk();
  const acknowledged: Acknowledgement[] = [];
  for (const [index, step] of steps.entries()) {
    disk.do(step);
    if (step.does === "say") acknowledged.push(...readAcknowledgements(step.lines));
    if (!moments.has(index + 1)) continue;
    const directory = join(root, `cut-${index}`);
    mkdirSync(directory);
    disk.cutPower(directory, random);
    const { problem, lost } = await inspectLog(directory, acknowledged);
    tally.add("lost", lost);
    const wrong = problem ?? (await findWrongReadModels(directory, tally));
    tally.case(wrong && `power cut after step ${index}: ${wrong}`);
  }
}

/** Read models are not synced, so a power cut may damage them, and a start must say so; but they may never be wrong. */
async function findWrongReadModels(directory: string, tally: Tally): Promise<string | null> {
  try {
    return (await inspectBackend(directory, [])).problem;
  } catch {
    tally.add("read models damaged", 1);
    return null;
  }
}

/** Lets a child append and records what it does to its disk. */
async function record(root: string, variant: Variant, seed: number): Promise<Step[]> {
  const directory = join(root, "recorded");
  const traceFile = join(root, "trace");
  const callers = 1 + randomFrom(seed).below(3);
  const orders: AppendOrders = {
    directory,
    variant,
    name: "p",
    seed,
    callers,
    appendsPerCaller: Math.ceil(appends / callers),
    waits: false,
  };
  const { code, stderr } = await spawnChild("append-child", orders, recorder(traceFile)).ended;
  if (code !== 0) throw new Error(`the recorded child ended with ${code}: ${stderr}`);
  return parseTrace(readFileSync(traceFile, "latin1"), directory);
}
