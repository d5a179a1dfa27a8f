import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rebuild } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import { listMessages, listThreads } from "../../read-models/threads/index.js";
import { appendOf, record, write } from "../support/appends.js";
import { openBackend, type Backend } from "../support/backend.js";
import { differences, open, say } from "../support/conversation.js";
import { delta, said } from "../support/facts.js";
import { randomFrom, type Random } from "../support/random.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Spawned } from "./spawned.js";
import { Tally } from "./tally.js";

const threadIds = ["t-0", "t-1", "t-2", "t-3"];
const callers = 8;
/** So many batches of 900 events are there before: a rebuild takes a while. */
const batches = 6;

/** `n` rebuilds one after the other, here and in another process by turns; a case is a request meanwhile. */
export const projectionServing: Proof = {
  name: "projection.serving",
  promise: "a rebuild does not stop the service: whoever writes and reads meanwhile notices nothing",
  sizes: { small: 2, full: 40 },
  run: serveDuringRebuilds,
  control: null,
};

function serveDuringRebuilds(...[rebuilds, seed, onProgress]: Parameters<Check>): ReturnType<Check> {
  return withDirectory(async (directory) => {
    const tally = new Tally(onProgress);
    const backend = await openBackend(directory);
    try {
      await fill(backend);
      const millis: number[] = [];
      let isOver = false;
      const serving = Array.from({ length: callers }, (_, caller) =>
        keepAsking(backend, caller, randomFrom(seed + caller), tally, millis, () => isOver),
      );
      for (let index = 0; index < rebuilds; index++) {
        tally.case(index % 2 === 0 ? await rebuildHere(backend) : await rebuildElsewhere(directory));
      }
      isOver = true;
      await Promise.all(serving);
      const different = await differences(backend);
      tally.case(different.length === 0 ? null : `afterwards, ${different.length} rows differ from a rebuild`);
      return {
        ...tally.finding(),
        figures: { rebuilds, "p50 ms": percentile(millis, 50), "p99 ms": percentile(millis, 99) },
      };
    } finally {
      backend.close();
    }
  });
}

async function fill(backend: Backend): Promise<void> {
  for (const threadId of threadIds) await open(backend, threadId);
  for (let batch = 0; batch < batches; batch++) {
    const facts = Array.from({ length: 900 }, (_, n) => (n % 3 === 0 ? said(`before ${batch} ${n}`) : delta("x")));
    await record(backend.log, appendOf(write(threadIds[batch % threadIds.length]!, "any", ...facts)));
  }
}

/** Says something and looks whether it is there, again and again. */
async function keepAsking(
  backend: Backend,
  caller: number,
  random: Random,
  tally: Tally,
  millis: number[],
  isOver: () => boolean,
): Promise<void> {
  for (let index = 0; !isOver(); index++) {
    const began = performance.now();
    let problem: string | null;
    try {
      problem = await ask(backend, random.pick(threadIds), `caller ${caller} says ${index}`);
    } catch (error) {
      problem = String(error);
    }
    millis.push(performance.now() - began);
    tally.case(problem);
  }
}

async function ask(backend: Backend, threadId: string, text: string): Promise<string | null> {
  const handled = await say(backend, threadId, text);
  if (handled.outcome !== "done") return `${text}: ${handled.code}`;
  const { query } = backend.store;
  const afterPosition = handled.events[0]!.position - 1;
  const [message] = await listMessages(query, { threadId, afterPosition, limit: 1 });
  if (message?.content !== text) return `${text}: not in the list of messages right after it was said`;
  const threads = await listThreads(query, { beforePosition: Number.MAX_SAFE_INTEGER, limit: 100 });
  return threads.length === threadIds.length ? null : `${text}: ${threads.length} threads are listed`;
}

async function rebuildHere({ log, store }: Backend): Promise<string | null> {
  try {
    await rebuild(log, store, projections);
    return null;
  } catch (error) {
    return `a rebuild in this process failed: ${String(error)}`;
  }
}

async function rebuildElsewhere(directory: string): Promise<string | null> {
  const here = fileURLToPath(import.meta.url);
  const root = here.endsWith(".ts") ? join(dirname(here), "../../dist") : join(dirname(here), "../..");
  const child = new Spawned(process.execPath, [
    join(root, "infra/cli/main.js"),
    ...["--data", directory, "projections", "rebuild"],
  ]);
  const { code, stderr } = await child.ended;
  return code === 0 ? null : `a rebuild in another process failed: ${stderr.slice(-500)}`;
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round((sorted[Math.floor((sorted.length * percent) / 100)] ?? 0) * 10) / 10;
}
