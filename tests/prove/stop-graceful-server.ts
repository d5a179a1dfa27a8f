import { createClient } from "@connectrpc/connect";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { networkTransport } from "../support/server.js";
import { undoneAtExit } from "./scratch.js";

const here = fileURLToPath(import.meta.url);
/** Under jest we run from the sources; the program is always the compiled one. */
const dist = here.endsWith(".ts") ? join(dirname(here), "../../dist") : join(dirname(here), "../..");

/** A real `pincer serve`, with one device paired. */
export interface ServedChild {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  /** What it said on standard error, line by line. */
  readonly lines: readonly string[];
  readonly hasEnded: boolean;
  /** null if a signal ended it. */
  readonly ended: Promise<number | null>;
  signal(name: NodeJS.Signals): void;
}

export async function serveChild(dataDirectory: string): Promise<ServedChild> {
  const args = [join(dist, "infra/cli/main.js"), "--data", dataDirectory, "--json", "serve"];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_OPTIONS: "", PINCER_HTTP_ADDR: "127.0.0.1:0", PINCER_LOG_LEVEL: "warn" },
  });
  const undoing = undoneAtExit(() => child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = once(child, "close").then(([code]) => {
    undoing.settled();
    return code as number | null;
  });
  const greeting = (async () => {
    let stdout = "";
    for await (const text of child.stdout.setEncoding("utf8")) {
      stdout += String(text);
      if (stdout.includes("\n")) return JSON.parse(stdout.split("\n", 1)[0]!) as { url: string; code: string };
    }
    throw new Error(`the server said nothing: ${stderr}`);
  })();
  const { url, code } = await greeting;
  const { token } = await createClient(AuthService, networkTransport(url)).bindPairingCode({ code });
  return {
    url,
    token,
    pid: child.pid!,
    get lines() {
      return stderr.split("\n").filter((line) => line !== "");
    },
    get hasEnded() {
      return child.exitCode !== null || child.signalCode !== null;
    },
    ended,
    signal: (name) => void child.kill(name),
  };
}
