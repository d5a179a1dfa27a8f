import { createClient } from "@connectrpc/connect";
import { spawn } from "node:child_process";
import { connect, type ClientHttp2Session } from "node:http2";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { EventsService, WatchThreadRequestSchema } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { frame } from "../support/frame.js";
import { networkTransport } from "../support/server.js";
import { interleave, median, perSecond, type Measured, type Trial } from "./measure.js";
import type { Benchmark, Setting } from "./setting.js";
import { millisSince, Watcher } from "./watcher.js";

/** Where a server is, and who may speak to it. */
export interface Place {
  readonly url: string;
  readonly threadIds: readonly string[];
  readonly tokens: readonly string[];
}

interface Server extends Place {
  /** Makes it append a message whose text is the time at which it was told to, in nanoseconds. */
  append(threadId: string): void;
  /** Its memory in megabytes, at the end. */
  stop(): Promise<number>;
}

const callsAtOnce = 16;
const watchersPerThread = 10;

export const rpcBenchmarks: readonly Benchmark[] = [
  {
    name: "replay.vs_connect",
    bound: { atLeast: 1.5 },
    run: (setting) => compareServers(setting, (server) => () => replayCounting(server, setting.sizes.replayEvents)),
  },
  {
    name: "replay.client.vs_connect",
    bound: { atLeast: 1.2 },
    run: (setting) => compareServers(setting, (server) => () => replayDecoding(server, setting.sizes.replayEvents)),
  },
  { name: "live.latency.vs_unary", bound: { atMost: 1.5 }, run: compareLatencies },
  {
    name: "unary.vs_bare",
    bound: { atLeast: 0.4 },
    run: (setting) => compareServers(setting, (server) => listing(server, setting.sizes.calls)),
  },
  { name: "streams.1000", bound: { atLeast: 1 }, run: openThousand },
];

async function compareServers(setting: Setting, trialOf: (server: Server) => Trial): Promise<Measured> {
  const { rounds, replayEvents } = setting.sizes;
  const ours = await startChild("ours", setting.directory(), replayEvents);
  const bare = await startChild("bare", setting.directory(), replayEvents);
  try {
    return await interleave(rounds, "per s", trialOf(ours), trialOf(bare));
  } finally {
    await Promise.all([ours.stop(), bare.stop()]);
  }
}

/** Counts the frames of a replay and looks at nothing else: what the server can send. */
async function replayCounting({ url, threadIds, tokens }: Server, eventCount: number): Promise<number> {
  const session = connect(url, { rejectUnauthorized: false, settings: { initialWindowSize: 1024 * 1024 } });
  session.once("connect", () => {
    session.setLocalWindowSize(8 * 1024 * 1024);
  });
  try {
    return await perSecond(eventCount, () => countFrames(session, threadIds[0]!, tokens[0]!, eventCount));
  } finally {
    session.destroy();
  }
}

function countFrames(session: ClientHttp2Session, threadId: string, token: string, atLeast: number): Promise<void> {
  const message = toBinary(WatchThreadRequestSchema, create(WatchThreadRequestSchema, { threadId }));
  const stream = session.request({
    ":method": "POST",
    ":path": "/pincer.protocol.v1.EventsService/WatchThread",
    "content-type": "application/connect+proto",
    authorization: `Bearer ${token}`,
  });
  stream.end(frame(message));
  return new Promise((resolve, reject) => {
    let frames = 0;
    let left = 0; // Of the frame that has begun.
    let header = Buffer.alloc(0);
    stream.on("error", reject);
    stream.on("data", (chunk: Buffer) => {
      let at = 0;
      while (at < chunk.length) {
        if (left > 0) {
          const step = Math.min(left, chunk.length - at);
          left -= step;
          at += step;
          if (left === 0) frames++;
          continue;
        }
        const step = Math.min(5 - header.length, chunk.length - at);
        header = Buffer.concat([header, chunk.subarray(at, at + step)]);
        at += step;
        if (header.length < 5) continue;
        left = header.readUInt32BE(1);
        header = Buffer.alloc(0);
        if (left === 0) frames++;
      }
      if (frames < atLeast) return;
      stream.close();
      resolve();
    });
  });
}

/** The same by the generated client. */
function replayDecoding({ url, threadIds, tokens }: Server, eventCount: number): Promise<number> {
  const client = createClient(EventsService, networkTransport(url, tokens[0]));
  return perSecond(eventCount, async () => {
    let events = 0;
    for await (const event of client.watchThread({ threadId: threadIds[0]! })) {
      if (event.payload.case === "messageCommitted" && ++events >= eventCount - 1) return;
    }
  });
}

/** Pages of twenty messages, by a few callers on one connection. */
function listing({ url, threadIds, tokens }: Server, callCount: number): Trial {
  const client = createClient(ThreadsService, networkTransport(url, tokens[0]));
  const request = { threadId: threadIds[0]!, pageSize: 20 };
  return () =>
    perSecond(callCount, async () => {
      let left = callCount;
      const call = async () => {
        while (left-- > 0) await client.listThreadMessages(request);
      };
      await Promise.all(Array.from({ length: callsAtOnce }, call));
    });
}

/** How long an event takes from the append to a watcher, and an empty call on the same connection there and back. */
async function compareLatencies(setting: Setting): Promise<Measured> {
  const server = await startChild("ours", setting.directory(), 1);
  const transport = networkTransport(server.url, server.tokens[0]);
  const system = createClient(SystemService, transport);
  const threadId = server.threadIds[1]!;
  const stream = createClient(EventsService, transport).watchThread({ threadId })[Symbol.asyncIterator]();
  const nextMillis = async (): Promise<number> => {
    for (;;) {
      const { value } = (await stream.next()) as { value: Parameters<typeof millisSince>[0] };
      const millis = millisSince(value);
      if (millis !== null) return millis;
    }
  };
  try {
    return await interleave(
      setting.sizes.rounds,
      "ms",
      async () => {
        const figures: number[] = [];
        for (let index = 0; index < setting.sizes.pings; index++) {
          server.append(threadId);
          figures.push(await nextMillis());
        }
        return median(figures);
      },
      async () => {
        const figures: number[] = [];
        for (let index = 0; index < setting.sizes.pings; index++) {
          const since = performance.now();
          await system.getAgentMemory({});
          figures.push(performance.now() - since);
        }
        return median(figures);
      },
    );
  } finally {
    await server.stop();
  }
}

/** Every event exactly once to each of its watchers; `ratio` is the share of those who got exactly what they should. */
async function openThousand(setting: Setting): Promise<Measured> {
  const server = await startChild("ours", setting.directory(), 1);
  const { appendsPerThread } = setting.sizes;
  const watchers: Watcher[] = [];
  const transports = server.tokens.map((token) => networkTransport(server.url, token));
  const threadIds = server.threadIds.slice(0, setting.sizes.watchedThreads);
  for (const [index, threadId] of threadIds.entries()) {
    for (let copy = 0; copy < watchersPerThread; copy++) {
      const transport = transports[(index * watchersPerThread + copy) % transports.length]!;
      watchers.push(new Watcher(createClient(EventsService, transport), threadId, appendsPerThread));
    }
  }
  try {
    await Promise.all(watchers.map(({ upToDate }) => upToDate));
    // One append a second in each thread, spread over the second.
    const pauseMillis = 1_000 / threadIds.length;
    for (let round = 0; round < appendsPerThread; round++) {
      for (const threadId of threadIds) {
        server.append(threadId);
        await new Promise((resolve) => setTimeout(resolve, pauseMillis));
      }
    }
    await Promise.all(watchers.map(({ done }) => done));
  } finally {
    for (const watcher of watchers) watcher.stop();
  }
  const latencies = watchers.flatMap(({ millis }) => millis).toSorted((a, b) => a - b);
  const right = watchers.filter((watcher) => watcher.isGapless).length;
  const rss = await server.stop();
  return {
    ratio: right / watchers.length,
    ours: right,
    peer: watchers.length,
    unit: "watchers",
    extra: {
      events: latencies.length,
      rssMegabytes: rss,
      p50Millis: median(latencies),
      p99Millis: latencies[Math.floor(latencies.length * 0.99)],
    },
  };
}

async function startChild(kind: "ours" | "bare", directory: string, eventCount: number): Promise<Server> {
  const program = fileURLToPath(new URL("rpc-child.js", import.meta.url));
  const child = spawn(process.execPath, [program, kind, directory, String(eventCount)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const kill = () => child.kill();
  process.once("exit", kill);
  const closed = once(child, "close");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async <T>() => JSON.parse(String((await lines.next()).value)) as T;
  const place = await next<Place>();
  return {
    ...place,
    append: (threadId) => child.stdin.write(`append ${threadId}\n`),
    stop: async () => {
      child.stdin.end();
      const { rss } = await next<{ rss: number }>();
      await closed;
      process.off("exit", kill);
      return rss / 1024 / 1024;
    },
  };
}
