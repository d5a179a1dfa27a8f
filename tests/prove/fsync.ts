import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { randomFrom, type Random } from "../support/random.js";
import { inspectBackend, inspectLog, readAcknowledgements, type Acknowledgement } from "./acknowledged.js";
import type { AppendOrders } from "./append-child.js";
import { parseTrace, recorder, straceUnavailable, type Step } from "./disk-trace.js";
import { inLanes } from "./lanes.js";
import { Disk } from "./power-cut.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { spawnChild } from "./spawned.js";
import { Tally } from "./tally.js";
import type { Variant } from "./variants.js";

/** Enough for a checkpoint of the WAL to be among what fails. */
const appendsPerCaller = 400;
const syncsMax = 400;
const writesMax = 4_000;
const fileBlocksMax = 10_000;

/** How one run of the child is made to fail. */
interface Fault {
  readonly name: string;
  /** What strace does to the calls of the child. */
  readonly injected: readonly string[];
  /** What the child is started with. */
  readonly limits: readonly string[];
}

export const logFsync: Proof = {
  name: "log.fsync",
  promise: "a failed fsync is never papered over",
  sizes: { small: 9, full: 200 },
  unavailable: straceUnavailable,
  run: checkFaults("sound"),
  control: (n, seed, onProgress) => checkFaults("stubborn")(Math.ceil(n / 3), seed, onProgress),
};

function checkFaults(variant: Variant): Check {
  return async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    await inLanes(
      n,
      () => (index) =>
        withDirectory(async (root) => {
          const random = randomFrom(seed * 1_000 + index);
          const fault = nextFault(index, random);
          const problem = await failOnce(root, fault, variant, random, tally);
          tally.case(problem === null ? null : `${fault.name}: ${problem}`);
        }),
    );
    return tally.finding();
  };
}

function nextFault(index: number, random: Random): Fault {
  switch (index % 3) {
    case 0: {
      const nth = 1 + random.below(syncsMax);
      return { name: `fsync ${nth} fails`, injected: [`inject=fsync,fdatasync:error=EIO:when=${nth}`], limits: [] };
    }
    case 1: {
      const nth = 1 + random.below(writesMax);
      return { name: `write ${nth} fails`, injected: [`inject=pwrite64:error=EIO:when=${nth}`], limits: [] };
    }
    default: {
      // A real short write, which strace cannot make: a file may grow so far, and the write that would cross the line
      // is cut off there. The next one fails.
      const blocks = 100 + random.below(fileBlocksMax);
      const script = `trap "" XFSZ; ulimit -f ${blocks}; exec "$@"`;
      return { name: `files end at ${blocks} blocks`, injected: [], limits: ["sh", "-c", script, "sh"] };
    }
  }
}

async function failOnce(
  root: string,
  { injected, limits }: Fault,
  variant: Variant,
  random: Random,
  tally: Tally,
): Promise<string | null> {
  const directory = join(root, "data");
  const traceFile = join(root, "trace");
  mkdirSync(directory); // Otherwise the first sync is that of the directory it is made in, which is not traced.
  const seed = random.below(2 ** 20);
  const orders: AppendOrders = { directory, variant, name: "f", seed, callers: 1, appendsPerCaller, waits: false };
  const wrapper = [...recorder(traceFile, ...injected), ...limits];
  const { code, stderr } = await spawnChild("append-child", orders, wrapper).ended;
  const steps = parseTrace(readFileSync(traceFile, "latin1"), directory);
  const failure = steps.findIndex(({ does }) => does === "fail");
  const acknowledged = acknowledgedIn(steps);
  tally.add("acknowledged", acknowledged.length);

  const failed = steps[failure];
  // SQLite does not ask whether a directory was synced; whether that does harm, the power cut below will show.
  if (failed?.does === "fail" && failed.file !== "") {
    tally.add(`failures of ${failed.file}`, 1);
    const late = acknowledgedIn(steps.slice(failure)).length;
    // The read models are a cache: what is durable may be acknowledged, whatever happens to them.
    if (late > 0 && !failed.file.startsWith("read-models.db")) {
      tally.add("acknowledged after failure", late);
      return `${late} appends were acknowledged after ${failed.call} of ${failed.file}`;
    }
    if (code === 0) return `the child exited with 0 after ${failed.call} of ${failed.file}`;
    const database = failed.file.replace(/-(wal|shm|journal)$/, "");
    if (!stderr.includes(database)) return `the message does not name ${database}: ${stderr.trim()}`;
  } else if (code !== 0) {
    return `nothing failed, and the child ended with ${code}: ${stderr.trim()}`;
  }
  const { problem, lost } = await inspectBackend(directory, acknowledged);
  tally.add("lost", lost);
  if (problem !== null) return problem;
  return inspectAfterPowerCut(join(root, "cut"), steps, random);
}

/** The same run on a disk that forgets what it could not sync, as Linux does, and that loses power at the end. */
async function inspectAfterPowerCut(directory: string, steps: readonly Step[], random: Random): Promise<string | null> {
  const disk = new Disk();
  for (const step of steps) disk.do(step);
  mkdirSync(directory);
  disk.cutPower(directory, random);
  const { problem } = await inspectLog(directory, acknowledgedIn(steps));
  return problem && `after a power cut: ${problem}`;
}

function acknowledgedIn(steps: readonly Step[]): Acknowledgement[] {
  return steps.flatMap((step) => (step.does === "say" ? readAcknowledgements(step.lines) : []));
}
