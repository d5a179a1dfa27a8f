// Fills up the disk that it is started on, again and again, under one open log, and reports what came of it.
import { openSync, closeSync, ftruncateSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { LogError } from "../../infra/event-log/index.js";
import { Projector, ReadModelStore } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import { openTestLog, quiet } from "../support/backend.js";
import { randomFrom } from "../support/random.js";
import { inspectBackend, inspectOpenLog, type Acknowledgement } from "./acknowledged.js";
import { say } from "./say.js";
import { nextAppend } from "./traffic.js";

export interface FullOrders {
  /** A small file system. */
  readonly disk: string;
  readonly seed: number;
  readonly rounds: number;
}

export interface FullRound {
  readonly problem: string | null;
  readonly acknowledged: number;
  readonly refused: number;
  /** How often the read models could not be written and were tried again. */
  readonly hindered: number;
  /** What the projector stopped with, or null if it went on. */
  readonly projectorStopped: string | null;
}

const chunk = Buffer.alloc(64 * 1024);
const gapBytesMax = 400_000;
const appendsMax = 5_000;
/** After the disk is full, small appends may still fit; this many are tried. */
const afterwards = 20;

const orders = JSON.parse(process.argv[2] ?? "") as FullOrders;
const directory = join(orders.disk, "data");
const filler = join(orders.disk, "filler");
const random = randomFrom(orders.seed);
const acknowledged: Acknowledgement[] = [];
const log = openTestLog(directory);

for (let round = 0; round < orders.rounds; round++) say(JSON.stringify(await fillAndFree(round)));
log.close();
const { problem } = await inspectBackend(directory, acknowledged);
say(
  JSON.stringify({
    problem: problem && `opened anew: ${problem}`,
    acknowledged: 0,
    refused: 0,
    hindered: 0,
    projectorStopped: null,
  } satisfies FullRound),
);

async function fillAndFree(round: number): Promise<FullRound> {
  const before = acknowledged.length;
  const store = ReadModelStore.open(directory, quiet);
  const logger = pino({ level: "warn" }, { write: () => (hindered += 1) });
  const projector = new Projector(log, store, projections, logger);
  let projectorStopped = null as string | null;
  let refused = 0;
  let hindered = 0;
  const end = (problem: string | null): FullRound => {
    rmSync(filler, { force: true });
    projector.close();
    store.close();
    return { problem, acknowledged: acknowledged.length - before, refused, hindered, projectorStopped };
  };

  await projector.start();
  projector.stopped.subscribe({ error: (error: unknown) => (projectorStopped = String(error)) });
  fillDisk(random.below(gapBytesMax));
  for (let index = 0, left = appendsMax; left > 0; index++, left--) {
    const outcome = await tryAppend(`r${round}.${index}`);
    if (outcome === "acknowledged") continue;
    if (outcome !== "full") return end(`on a full disk: ${outcome}`);
    refused++;
    left = Math.min(left, afterwards);
  }
  if (refused === 0) return end("the disk did not fill up");

  rmSync(filler);
  const outcome = await tryAppend(`r${round}.free`);
  if (outcome !== "acknowledged") return end(`after space was freed: ${outcome}`);
  const position = log.head().position;
  if (projectorStopped === null) await projector.reached(position);
  return end((await inspectOpenLog(log, acknowledged)).problem);
}

async function tryAppend(name: string): Promise<string> {
  try {
    const result = await log.append(nextAppend(name, random));
    if (result.outcome !== "appended") return result.outcome;
    const events = result.events.map(({ position, eventId }) => ({ position, eventId }));
    acknowledged.push({ append: name, events });
    return "acknowledged";
  } catch (error) {
    return error instanceof LogError && error.trouble === "full" ? "full" : String(error);
  }
}

/** Fills the disk but for some bytes. */
function fillDisk(gapBytes: number): void {
  const file = openSync(filler, "w");
  let size = 0;
  try {
    for (;;) size += writeSync(file, chunk);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    ftruncateSync(file, Math.max(0, size - gapBytes));
  } finally {
    closeSync(file);
  }
}
