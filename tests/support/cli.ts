import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** What `npm test` has built: the same program that `npx pincer` runs. */
const entry = fileURLToPath(new URL("../../dist/infra/cli/main.js", import.meta.url));

export type RunningCli = ChildProcessByStdio<null, Readable, Readable>;

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function startCli(dataDirectory: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningCli {
  return spawn(process.execPath, [entry, "--data", dataDirectory, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_OPTIONS: "", ...env },
  });
}

/** Runs the real command line to its end. */
export async function cli(dataDirectory: string, ...args: readonly string[]): Promise<CliResult> {
  const child = startCli(dataDirectory, args);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, stdout, stderr };
}

/** The JSON values that a command printed, one a line. */
export function jsonLines(stdout: string): unknown[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));
}
