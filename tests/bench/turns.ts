import { timestampMs } from "@bufbuild/protobuf/wkt";
import { deltaMillisMax } from "../../commands/threads/turn-output.js";
import { chatCompletionsModel } from "../../infra/model/chat-completions.js";
import { defaultModelTimeouts } from "../../infra/model/timeouts.js";
import { openTestLog } from "../support/backend.js";
import { interleave, median, type Measured } from "./measure.js";
import { messageAppend } from "./messages.js";
import type { Benchmark, Setting } from "./setting.js";
import { lastAsked } from "./turns-asked.js";
import { askFor, type Plan } from "./turns-plan.js";
import { withServer, type Clients } from "./turns-setup.js";

const longTurn: Plan = { steps: 10, chunks: 20, gapMillis: 0 };
const shortTurn: Plan = { steps: 3, chunks: 20, gapMillis: 0 };
const turnsAtOnce = 50;
/** About what a turn writes at a time. */
const eventsPerCommit = 4;
/** So far apart that each chunk is a delta of its own. */
const deltaGapMillis = deltaMillisMax + 15;

export const turnBenchmarks: readonly Benchmark[] = [
  { name: "turn.overhead", bound: { atMost: 2 }, run: compareWithCalls },
  { name: "turn.delta.latency", bound: { atMost: 3 }, run: measureDeltas },
  { name: "turns.50", bound: { atLeast: 1 }, run: runFifty },
];

/**
 * A turn by the server, against the same questions put to the same model by the same client, and nothing else. Told
 * beside it: how often the server writes for a turn, and what so many writes of as many events take by themselves.
 */
function compareWithCalls(setting: Setting): Promise<Measured> {
  return withServer(setting.directory(), async ({ clients, baseUrl, commits }) => {
    const { rounds, turns } = setting.sizes;
    await turnMillis(clients, longTurn);
    const before = await commits();
    await turnMillis(clients, longTurn);
    const commitsPerTurn = (await commits()) - before - 1; // The thread is not the turn's.
    const asked = await lastAsked(baseUrl, longTurn.steps);
    const model = chatCompletionsModel({ provider: "instant", baseUrl, apiKey: "", timeouts: defaultModelTimeouts });
    const { signal } = new AbortController();
    const log = openTestLog(setting.directory());
    const ask = async () => {
      for (const request of asked) await model.ask(request, () => undefined, signal);
    };
    const append = async () => {
      for (let left = commitsPerTurn; left > 0; left--) await log.append(messageAppend("t", eventsPerCommit));
    };
    try {
      const measured = await interleave(
        rounds,
        "ms",
        () => medianOf(turns, () => turnMillis(clients, longTurn)),
        () => medianOf(turns, () => millisOf(ask)),
        { appendsMillis: () => medianOf(turns, () => millisOf(append)) },
      );
      return { ...measured, extra: { ...measured.extra, ...longTurn, commitsPerTurn } };
    } finally {
      log.close();
    }
  });
}

/** From the model's process to a watcher, beyond what a piece may wait for the next; less an empty call's way. */
function measureDeltas(setting: Setting): Promise<Measured> {
  return withServer(setting.directory(), async ({ clients }) => {
    const { rounds, deltas, pings } = setting.sizes;
    const { ours, peer, extra } = await interleave(
      rounds,
      "ms",
      async () => median(await deltaMillis(clients, deltas)) - deltaMillisMax,
      () => medianOf(pings, () => millisOf(() => clients.system.getAgentMemory({}))),
    );
    const difference = ours - peer!;
    return {
      ratio: null,
      ours: difference,
      peer: null,
      unit: "ms",
      extra: { rounds: extra?.["rounds"], deltaMillis: ours, unaryMillis: peer, windowMillis: deltaMillisMax },
    };
  });
}

/** `ratio` is the share of the turns that completed. */
function runFifty(setting: Setting): Promise<Measured> {
  return withServer(setting.directory(), async ({ clients }) => {
    const figures: number[] = [];
    let failures = 0;
    for (let round = 0; round <= setting.sizes.longRounds; round++) {
      const opening = Array.from({ length: turnsAtOnce }, () => clients.threads.createThread({}));
      const threads = await Promise.all(opening);
      const settled = await Promise.allSettled(threads.map((thread) => turnMillisIn(thread, clients, shortTurn)));
      if (round === 0) continue; // To warm up.
      for (const turn of settled) {
        if (turn.status === "fulfilled") figures.push(turn.value);
        else failures += 1;
      }
    }
    const all = figures.length + failures;
    const sorted = figures.toSorted((a, b) => a - b);
    return {
      ratio: figures.length / all,
      ours: figures.length,
      peer: all,
      unit: "turns",
      extra: {
        ...shortTurn,
        turnsAtOnce,
        p50Millis: sorted[Math.floor(sorted.length * 0.5)],
        p99Millis: sorted[Math.floor(sorted.length * 0.99)],
      },
    };
  });
}

/** Of a turn in a thread of its own. */
async function turnMillis(clients: Clients, plan: Plan): Promise<number> {
  return turnMillisIn(await clients.threads.createThread({}), clients, plan);
}

/** What the server takes, from the turn's beginning to its end. The log tells when they were; nobody watches meanwhile. */
async function turnMillisIn({ threadId }: { threadId: string }, clients: Clients, plan: Plan): Promise<number> {
  const { turnId } = await clients.turns.sendTurn({ threadId, userText: askFor(plan) });
  const leaving = new AbortController();
  let since = 0;
  try {
    for await (const event of clients.events.watchThread({ threadId }, { signal: leaving.signal })) {
      const at = event.occurredAt === undefined ? 0 : timestampMs(event.occurredAt);
      if (event.turnId !== turnId) continue;
      if (event.payload.case === "turnStarted") since = at;
      if (event.payload.case === "turnCompleted") return at - since;
    }
  } finally {
    leaving.abort();
  }
  throw new Error("a turn has no end");
}

/** How old each chunk is when a watcher of the thread sees it. */
async function deltaMillis({ threads, turns, events }: Clients, chunks: number): Promise<number[]> {
  const { threadId } = await threads.createThread({});
  const figures: number[] = [];
  const leaving = new AbortController();
  let sending: Promise<unknown> | null = null;
  try {
    for await (const { payload } of events.watchThread({ threadId }, { signal: leaving.signal })) {
      const now = process.hrtime.bigint();
      const plan = { steps: 1, chunks, gapMillis: deltaGapMillis };
      if (payload.case === "heartbeat") sending ??= turns.sendTurn({ threadId, userText: askFor(plan) });
      sending?.catch(() => undefined); // It is awaited below.
      if (payload.case === "turnCompleted" || payload.case === "turnFailed") break;
      if (payload.case !== "assistantTextDelta") continue;
      const stamp = /^\d+/.exec(payload.value.delta)?.[0]; // If there are two, the first has waited for the second.
      if (stamp !== undefined) figures.push(Number(now - BigInt(stamp)) / 1e6);
    }
  } finally {
    leaving.abort();
  }
  await sending;
  return figures;
}

async function medianOf(count: number, trial: () => Promise<number>): Promise<number> {
  const figures: number[] = [];
  for (let index = 0; index < count; index++) figures.push(await trial());
  return median(figures);
}

async function millisOf(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}
