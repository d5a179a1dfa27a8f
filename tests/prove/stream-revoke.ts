import { Code, ConnectError } from "@connectrpc/connect";
import { Growth, type SqliteEventLog } from "../../infra/event-log/index.js";
import { heartbeatMillisDefault, watch } from "../../infra/rpc/watch.js";
import { DevicesService } from "../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { appendOf, record, write } from "../support/appends.js";
import { openTestLog } from "../support/backend.js";
import { delta, threadCreated } from "../support/facts.js";
import { randomFrom } from "../support/random.js";
import { startServer } from "../support/server.js";
import { connectTo, openStream } from "../support/watcher.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { serveStreams, type Watch } from "./stream-gapless-variant.js";
import { Tally } from "./tally.js";

/** What the protocol promises. It is held to in full size only: a test that counts milliseconds fails by itself. */
const lastByteMillisMax = 100;
const small = 6;
/** A device that hears so many events after its revocation was answered is not about to hear the last of them. */
const heardAfterMax = 500;
const devicesMax = 1_000;

interface Revocable {
  readonly url: string;
  pair(): Promise<{ readonly token: string; readonly deviceId: string }>;
  revoke(deviceId: string): Promise<void>;
  stop(): Promise<void>;
}

/** `n` devices revoked while they are being sent events. */
export const streamRevoke: Proof = {
  name: "stream.revoke",
  promise: "a revoked device hears nothing more",
  sizes: { small, full: 200 },
  run: checkRevocations(async (directory) => {
    const server = await startServer(directory, { activeDevicesMax: devicesMax });
    return {
      url: server.running.url,
      pair: () => server.pair(),
      revoke: async (deviceId) => {
        await server.operator(DevicesService).revokeDevice({ deviceId });
      },
      stop: () => server.stop(),
    };
  }),
  control: checkRevocations(async (_directory, log) => {
    const streams = await serveStreams(log, checkedAtOpenOnly(new Growth(log)));
    return {
      ...streams,
      pair: async () => ({ token: streams.token, deviceId: "device" }),
      revoke: async () => undefined, // Nobody asks again.
    };
  }),
};

function checkRevocations(serve: (directory: string, log: SqliteEventLog) => Promise<Revocable>): Check {
  return (n, seed, onProgress) =>
    withDirectory(async (directory) => {
      const tally = new Tally(onProgress);
      const log = openTestLog(directory);
      await record(log, appendOf(write("t", "no_stream", threadCreated)));
      const server = await serve(directory, log);
      try {
        const random = randomFrom(seed);
        for (let index = 0; index < n; index++) {
          const { problem, millis } = await revokeOnce(server, log, 1 + random.below(30));
          tally.max("ms to the last byte, max", Math.round(millis * 10) / 10);
          const isLate = n > small && millis > lastByteMillisMax;
          tally.case(problem ?? (isLate ? `the last byte came ${millis.toFixed(0)} ms after the revocation` : null));
        }
        return tally.finding();
      } finally {
        await server.stop();
        log.close();
      }
    });
}

/** Revokes a device that has been sent so many events; they go on coming. */
async function revokeOnce(server: Revocable, log: SqliteEventLog, eventsBefore: number) {
  const { token, deviceId } = await server.pair();
  const connection = connectTo(server.url, token);
  let heard = 0;
  let lastAt = 0;
  let end: ConnectError | "open" | null = "open";
  const listening = (async () => {
    try {
      for await (const _ of openStream(connection, { threadId: "t" }, log.threadHead("t"))) {
        heard += 1;
        lastAt = performance.now();
      }
      end = null;
    } catch (error) {
      lastAt = performance.now(); // Its last words.
      end = ConnectError.from(error);
    }
  })();
  const isOpen = () => end === "open";
  const append = () => record(log, appendOf(write("t", "any", delta("x".repeat(200)))));
  while (isOpen() && heard < eventsBefore) await append();
  const revoking = server.revoke(deviceId);
  const revokedAt = performance.now();
  await Promise.all([revoking, append()]);
  const heardBefore = heard;
  while (isOpen() && heard - heardBefore < heardAfterMax) await append();
  connection.destroy();
  const ended = end as ConnectError | "open" | null;
  await listening;
  return { problem: judge(ended), millis: lastAt - revokedAt };
}

function judge(end: ConnectError | "open" | null): string | null {
  if (end === "open") return `still hears everything ${heardAfterMax} events after its revocation`;
  if (end === null) return "its stream ended as if all were well";
  return end.code === Code.Unauthenticated ? null : `its stream ended with ${end.message}`;
}

function checkedAtOpenOnly(growth: Growth): Watch {
  return (log, threadId, from, signal) =>
    watch(threadId, from, {
      log,
      growth,
      signal,
      asJson: false,
      heartbeatMillis: heartbeatMillisDefault,
      isSameLog: true,
      onSent: () => undefined,
      onGap: () => undefined,
    });
}
