import type { LogReader, SqliteEventLog } from "../../infra/event-log/index.js";
import { appendOf, record, write } from "../support/appends.js";
import { openTestLog } from "../support/backend.js";
import { delta, threadCreated } from "../support/facts.js";
import { randomFrom, type Random } from "../support/random.js";
import { startServer } from "../support/server.js";
import { TcpProxy, type Cut } from "../support/tcp-proxy.js";
import { compareWithLog, connectTo, Watcher, type Watched } from "../support/watcher.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { listThenSubscribe, serveStreams } from "./stream-gapless-variant.js";
import { Tally } from "./tally.js";

const threadIds = ["t-0", "t-1"];
const watched: readonly Watched[] = [...threadIds.map((threadId) => ({ threadId })), "log", "log"];
/** So many are there before: there is something to replay while the log grows. */
const eventsBefore = 900;
const burstEvents = 20;
/** A handshake takes about 2,000 of them; so some connections do not even get that far. */
const bytesDownMax = 40_000;
const bytesUpMax = 2_500;
const kinds: readonly Cut["kind"][] = ["reset", "end", "only-client-told", "only-server-told"];

/** A server to watch, and the end of it. */
export interface Streams {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

/** `n` connections cut at random bytes, while the log grows; a case is a cut, and each watcher's sum at the end. */
export const streamGapless: Proof = {
  name: "stream.gapless",
  promise: "each watcher sees every event once, in order, wherever its connection is cut",
  sizes: { small: 12, full: 400 },
  run: checkCuts(async (directory) => {
    const server = await startServer(directory);
    const { token } = await server.pair();
    return { url: server.running.url, token, stop: () => server.stop() };
  }),
  control: checkCuts((_directory, log) => serveStreams(log, listThenSubscribe)),
};

function checkCuts(serve: (directory: string, log: LogReader) => Promise<Streams>): Check {
  return (n, seed, onProgress) =>
    withDirectory(async (directory) => {
      const tally = new Tally(onProgress);
      const log = openTestLog(directory);
      const streams = await serve(directory, log);
      try {
        await cutAndCompare(n, seed, log, streams, tally);
        return tally.finding();
      } finally {
        await streams.stop();
        log.close();
      }
    });
}

async function cutAndCompare(cuts: number, seed: number, log: SqliteEventLog, streams: Streams, tally: Tally) {
  const before = Array.from({ length: eventsBefore }, (_, index) => delta(`before ${index}`));
  for (const threadId of threadIds) await record(log, appendOf(write(threadId, "no_stream", threadCreated, ...before)));
  let cutsLeft = cuts;
  const refused: unknown[] = [];
  const lines = await Promise.all(
    watched.map(async (what, index) => {
      const random = randomFrom(seed * 100 + index);
      const nextCut = () => (cutsLeft > 0 ? drawCut(random) : null);
      const proxy: TcpProxy = await TcpProxy.listen(streams.url, nextCut, {
        onCut: () => {
          cutsLeft -= 1;
          tally.case(null);
        },
        onSilence: () => {
          watcher.disconnect(); // As an app does that has heard no heartbeat.
        },
      });
      const watcher = new Watcher(() => connectTo(proxy.url, streams.token), what);
      const following = watcher.follow();
      following.catch((error: unknown) => refused.push(error)); // Thrown below, where it is awaited.
      return { what, proxy, watcher, following };
    }),
  );
  const append = async (events: number, random: Random) => {
    const facts = Array.from({ length: events }, () => delta("x".repeat(random.below(600))));
    await record(log, appendOf(write(random.pick(threadIds), "any", ...facts)));
  };
  const random = randomFrom(seed);
  while (cutsLeft > 0 && refused.length === 0) await append(1 + random.below(burstEvents), random);
  // What a broken variant lost at the very end shows only when there is more to come.
  const { position } = log.head();
  const heads = lines.map(({ what }) => (what === "log" ? position : log.threadHead(what.threadId)));
  const isBehind = () => lines.some(({ watcher }, index) => watcher.cursor < heads[index]!);
  while (isBehind() && refused.length === 0) await append(1, random);
  for (const { watcher, proxy } of lines) {
    watcher.stop();
    proxy.close();
  }
  await Promise.all(lines.map(({ following }) => following));

  for (const { watcher, what } of lines) {
    const { gaps, doubles, reorders, altered } = compareWithLog(watcher.seen, log, what, position);
    for (const [figure, count] of Object.entries({ gaps, doubles, reorders, altered })) tally.add(figure, count);
    tally.add("events seen", watcher.seen.length);
    tally.add("resumes", watcher.resumes);
    const isWrong = gaps + doubles + reorders + altered > 0;
    const of = what === "log" ? "the log" : what.threadId;
    tally.case(isWrong ? `of ${of}: ${gaps} lost, ${doubles} twice, ${reorders} late, ${altered} altered` : null);
  }
}

function drawCut(random: Random): Cut {
  const direction = random.chance(80) ? "down" : "up";
  const afterBytes = 1 + random.below(direction === "down" ? bytesDownMax : bytesUpMax);
  return { direction, afterBytes, kind: random.pick(kinds) };
}
