import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { replay } from "../../infra/event-log/index.js";
import { openTestLog } from "../support/backend.js";
import { randomFrom } from "../support/random.js";
import { networkTransport } from "../support/server.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { serveChild, type ServedChild } from "./stop-graceful-server.js";
import { Tally } from "./tally.js";

const writers = 8;
const watchers = 5;
/** The bound that the server has set itself, and what a busy machine adds to it. */
const drainSecondsMax = 20;

export const stopGraceful: Proof = {
  name: "stop.graceful",
  promise: "a stop loses nothing and ends in time",
  sizes: { small: 2, full: 40 },
  run: checkStops("SIGTERM"),
  // Whoever is killed tells nobody, so the streams cannot end as they should.
  control: (_n, seed, onProgress) => checkStops("SIGKILL")(1, seed, onProgress),
};

function checkStops(signal: NodeJS.Signals): Check {
  return async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    for (let stop = 0; stop < n; stop++) {
      const acknowledgedMin = 20 + randomFrom(seed * 1_000 + stop).below(200);
      const problem = await withDirectory((path) => stopOnce(path, signal, acknowledgedMin, tally));
      tally.case(problem === null ? null : `stop ${stop}: ${problem}`);
    }
    return tally.finding();
  };
}

/** Stops the server after so many acknowledgements, in the middle of the work. */
async function stopOnce(path: string, signal: NodeJS.Signals, acknowledgedMin: number, tally: Tally) {
  const child = await serveChild(path);
  const acknowledged: string[] = [];
  let begun = 0;
  const onAcknowledged = () => {
    if (acknowledged.length !== acknowledgedMin) return;
    begun = performance.now();
    child.signal(signal);
  };
  const { watching, ready } = watchAll(child);
  await ready;
  await Promise.all(Array.from({ length: writers }, () => write(child, acknowledged, onAcknowledged)));
  const [code, ...ends] = await Promise.all([child.ended, ...watching]);
  const drainSeconds = (performance.now() - begun) / 1_000;

  tally.add("acknowledged", acknowledged.length);
  tally.max("drain seconds", Math.round(drainSeconds * 1_000) / 1_000);
  const lost = acknowledged.length - countCreated(path, new Set(acknowledged));
  tally.add("lost", lost);
  const badEnd = ends.find((end) => end !== "Unavailable: the server is stopping");
  if (lost > 0) return `${lost} acknowledged commands are lost`;
  if (code !== 0) return `it ended with ${code}: ${child.lines.join(" ")}`;
  if (badEnd !== undefined) return `a stream ended with ${badEnd}`;
  if (child.lines.length > 0) return `it said ${child.lines[0]}`;
  return drainSeconds > drainSecondsMax ? `it took ${drainSeconds} s to stop` : null;
}

/** Creates threads until nobody answers any more. */
async function write(child: ServedChild, acknowledged: string[], onAcknowledged: () => void): Promise<void> {
  const threads = createClient(ThreadsService, networkTransport(child.url, child.token));
  for (;;) {
    try {
      const { threadId } = await threads.createThread({});
      acknowledged.push(threadId);
      onAcknowledged();
    } catch {
      return;
    }
  }
}

/** Streams, and how each of them ends. */
function watchAll(child: ServedChild): { watching: Promise<string>[]; ready: Promise<unknown> } {
  const begun: Promise<void>[] = [];
  const watching = Array.from({ length: watchers }, () => {
    const { promise, resolve } = withResolver();
    begun.push(promise);
    return watch(child, resolve);
  });
  return { watching, ready: Promise.all(begun) };
}

async function watch(child: ServedChild, onFirst: () => void): Promise<string> {
  try {
    const events = createClient(EventsService, networkTransport(child.url, child.token));
    for await (const _ of events.watchLog({})) onFirst();
    return "nothing said";
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return `${Code[code]}: ${rawMessage}`;
  } finally {
    onFirst();
  }
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

function countCreated(path: string, threadIds: ReadonlySet<string>): number {
  const log = openTestLog(path);
  try {
    const rows = [...replay(log, { afterPosition: 0 })].flat();
    return rows.filter(({ type, thread_id: threadId }) => type === "threadCreated" && threadIds.has(threadId ?? ""))
      .length;
  } finally {
    log.close();
  }
}
