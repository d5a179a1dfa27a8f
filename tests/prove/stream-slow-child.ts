// A server in a process of its own, whose memory is its own: says where it is, and appends whenever it is told to go.
import { fromBinary } from "@bufbuild/protobuf";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogReader } from "../../infra/event-log/index.js";
import { ThreadEventSchema, type ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { openTestLog } from "../support/backend.js";
import { startServer } from "../support/server.js";
import { say } from "./say.js";
import { serveStreams } from "./stream-gapless-variant.js";

export interface SlowOrders {
  readonly directory: string;
  readonly variant: "sound" | "buffering";
}

/** Where the child is, in a file in its directory. */
export interface SlowServer {
  readonly url: string;
  readonly tokens: readonly string[];
  readonly pid: number;
}

const devices = 4;

const { directory, variant } = JSON.parse(process.argv[2] ?? "") as SlowOrders;
writeFileSync(join(directory, "server.json"), JSON.stringify(await start()));
say("ready");
process.stdin.resume().once("close", () => process.exit(0));

async function start(): Promise<SlowServer> {
  const { pid } = process;
  if (variant === "buffering") {
    const { url, token } = await serveStreams(openTestLog(directory), bufferedPush);
    return { url, tokens: [token], pid };
  }
  const server = await startServer(directory, { activeDevicesMax: devices });
  const tokens: string[] = [];
  for (let index = 0; index < devices; index++) tokens.push((await server.pair(`reader ${index}`)).token);
  return { url: server.running.url, tokens, pid };
}

/** What comes is kept for each reader until it takes it, however long that is. */
async function* bufferedPush(
  log: LogReader,
  threadId: string | null,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<ThreadEvent> {
  const buffer: Uint8Array[] = [];
  let cursor = from;
  let wake: () => void = () => undefined;
  const push = () => {
    for (const row of log.readThread(threadId ?? "", cursor, 500)) {
      buffer.push(row.event!);
      cursor = row.sequence!;
    }
    wake();
  };
  const pushing = log.grown.subscribe(push);
  signal.addEventListener("abort", () => {
    pushing.unsubscribe();
    wake();
  });
  for (let before = -1; before !== cursor;) {
    before = cursor;
    push();
  }
  while (!signal.aborted) {
    const event = buffer.shift();
    if (event !== undefined) yield fromBinary(ThreadEventSchema, event);
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
}
