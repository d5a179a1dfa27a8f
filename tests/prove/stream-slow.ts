import { create, toBinary } from "@bufbuild/protobuf";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, type ClientHttp2Session } from "node:http2";
import { join } from "node:path";
import type { SqliteEventLog } from "../../infra/event-log/index.js";
import { WatchThreadRequestSchema } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { appendOf, record, write } from "../support/appends.js";
import { openTestLog } from "../support/backend.js";
import { delta, threadCreated } from "../support/facts.js";
import { frame } from "../support/frame.js";
import { connectTo, openStream } from "../support/watcher.js";
import { median } from "../bench/measure.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import type { SlowOrders, SlowServer } from "./stream-slow-child.js";
import { spawnChild } from "./spawned.js";
import { Tally } from "./tally.js";

const rssMegabytesMax = 50;
const slowdownPercentMax = 20;
const small = 20;
const readersPerConnection = 25;
const eventBytes = 2_000;
/** So many events for each stopped reader lie unread; what a server buffers of them, it buffers 200 times. */
const replayEvents = 3_000;
/** In full size: how often a healthy reader reads it all, and how many events then come one by one. */
const fullEffort = { passes: 5, rounds: 3, liveEvents: 15 };
const smallEffort = { passes: 1, rounds: 1, liveEvents: 3 };

interface Measured {
  readonly replayMillis: number;
  readonly p99Millis: number;
}

/** `n` readers that have stopped reading, and one that has not. */
export const streamSlow: Proof = {
  name: "stream.slow",
  promise: "a reader that has stopped reading hurts nobody",
  sizes: { small, full: 200 },
  unavailable: () => (existsSync("/proc/self/status") ? null : "memory is read from /proc"),
  run: checkSlowReaders("sound"),
  control: checkSlowReaders("buffering"),
};

function checkSlowReaders(variant: SlowOrders["variant"]): Check {
  return (n, _seed, onProgress) =>
    withDirectory(async (directory) => {
      const tally = new Tally(onProgress);
      const log = openTestLog(directory);
      const facts = Array.from({ length: 500 }, (_, index) => delta(`${index} ${"x".repeat(eventBytes)}`));
      await record(log, appendOf(write("t", "no_stream", threadCreated)));
      while (log.threadHead("t") < replayEvents) await record(log, appendOf(write("t", "any", ...facts)));
      const child = spawnChild("stream-slow-child", { directory, variant } satisfies SlowOrders);
      const sessions: ClientHttp2Session[] = [];
      try {
        await child.said(1);
        const server = JSON.parse(readFileSync(join(directory, "server.json"), "utf8")) as SlowServer;
        const effort = n > small ? fullEffort : smallEffort;
        await measure(server, log, effort); // Warm, so that what grows is what the readers make grow.
        // In turn, because a machine that does other things, too, is slower now and faster then.
        const passes: { alone: Measured; among: Measured; rssDelta: number }[] = [];
        while (passes.length < effort.passes) {
          const alone = await measure(server, log, effort);
          const rssBefore = residentMegabytes(server.pid);
          for (let first = 0; first < n; first += readersPerConnection) {
            sessions.push(await stopReaders(server, first, Math.min(readersPerConnection, n - first)));
          }
          const among = await measure(server, log, effort);
          passes.push({ alone, among, rssDelta: residentMegabytes(server.pid) - rssBefore });
          await Promise.all(sessions.splice(0).map(leave));
        }
        const rssDelta = Math.max(...passes.map((pass) => pass.rssDelta));
        const slowdown = 100 * (median(passes.map(({ alone, among }) => among.replayMillis / alone.replayMillis)) - 1);
        const isFull = n > small;
        const limit = isFull ? rssMegabytesMax : controlMegabytes(n);
        tally.case(rssDelta > limit ? `${n} stopped readers took ${rssDelta.toFixed(0)} MB` : null);
        const isSlow = isFull && slowdown > slowdownPercentMax;
        tally.case(isSlow ? `a healthy reader was slowed down by ${slowdown.toFixed(0)} %` : null);
        return {
          ...tally.finding(),
          figures: {
            "RSS delta MB": round(rssDelta),
            "slowdown of replay %": round(slowdown),
            "live p99 ms alone": round(median(passes.map(({ alone }) => alone.p99Millis))),
            "live p99 ms among them": round(median(passes.map(({ among }) => among.p99Millis))),
          },
        };
      } finally {
        for (const session of sessions) session.destroy();
        child.kill();
        await child.ended;
        log.close();
      }
    });
}

/** In small size: half of what they would take if all that they do not read were kept for them. */
function controlMegabytes(n: number): number {
  return (n * replayEvents * eventBytes) / 1024 / 1024 / 2;
}

/** Readers of the whole thread, on one connection, whose windows are full, and stay so. */
async function stopReaders({ url, tokens }: SlowServer, first: number, count: number): Promise<ClientHttp2Session> {
  const session = connect(url, { rejectUnauthorized: false });
  session.on("error", () => undefined);
  const message = toBinary(WatchThreadRequestSchema, create(WatchThreadRequestSchema, { threadId: "t" }));
  const token = tokens[Math.floor(first / readersPerConnection) % tokens.length]!;
  for (let index = 0; index < count; index++) {
    const stream = session.request({
      ":method": "POST",
      ":path": "/pincer.protocol.v1.EventsService/WatchThread",
      "content-type": "application/connect+proto",
      authorization: `Bearer ${token}`,
    });
    stream.on("error", () => undefined);
    stream.end(frame(message));
    await once(stream, "response"); // And never reads what comes with it.
  }
  return session;
}

async function leave(session: ClientHttp2Session): Promise<void> {
  const closed = once(session, "close");
  session.destroy();
  await closed;
}

/**
 * How long a healthy reader takes for an event of a replay, the median; and from an append to its receipt, at worst.
 * The appends are another process's, here: the server looks for those every 25 ms.
 */
async function measure(
  { url, tokens }: SlowServer,
  log: SqliteEventLog,
  { rounds, liveEvents }: typeof fullEffort,
): Promise<Measured> {
  const replays: number[] = [];
  const latencies: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const connection = connectTo(url, tokens.at(-1)!);
    const end = log.threadHead("t");
    const began = performance.now();
    let appendedAt = 0;
    for await (const { sequence } of openStream(connection, { threadId: "t" }, 0)) {
      if (sequence < end) continue;
      if (Number(sequence) === end) replays.push((performance.now() - began) / end);
      else latencies.push(performance.now() - appendedAt);
      if (Number(sequence) === end + liveEvents) break;
      await record(log, appendOf(write("t", "any", delta("live"))));
      appendedAt = performance.now();
    }
    connection.destroy();
  }
  return {
    replayMillis: median(replays),
    p99Millis: latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.99)] ?? 0,
  };
}

function residentMegabytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
