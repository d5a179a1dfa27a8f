import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bound, Measured } from "./measure.js";
import { buildRealisticLog } from "./realistic-log.js";

/** One row of the table. */
export interface Benchmark {
  readonly name: string;
  readonly bound: Bound | null;
  readonly run: (setting: Setting) => Promise<Measured>;
}

/** How much of everything. */
export interface Sizes {
  readonly rounds: number;
  /** Of whatever walks a whole log. */
  readonly longRounds: number;
  readonly startRounds: number;
  readonly singleAppends: number;
  readonly concurrentAppends: number;
  readonly emmettAppends: number;
  readonly batchAppends: number;
  /** Of the log that is rebuilt, verified, replayed and started with. */
  readonly logEvents: number;
  readonly replayEvents: number;
  /** Of small questions, and of events that are waited for one by one. */
  readonly calls: number;
  readonly pings: number;
  readonly watchedThreads: number;
  readonly appendsPerThread: number;
  /** Of each round. */
  readonly turns: number;
  readonly deltas: number;
}

export const fullSizes: Sizes = {
  rounds: 9,
  longRounds: 5,
  startRounds: 15,
  singleAppends: 2_000,
  concurrentAppends: 64 * 150,
  emmettAppends: 200,
  batchAppends: 40,
  logEvents: 1_000_000,
  replayEvents: 50_000,
  calls: 4_000,
  pings: 300,
  watchedThreads: 100,
  appendsPerThread: 10,
  turns: 15,
  deltas: 25,
};
export const smallSizes: Sizes = {
  rounds: 5,
  longRounds: 5,
  startRounds: 5,
  singleAppends: 20,
  concurrentAppends: 64 * 2,
  emmettAppends: 10,
  batchAppends: 2,
  logEvents: 4_000,
  replayEvents: 1_000,
  calls: 50,
  pings: 5,
  watchedThreads: 2,
  appendsPerThread: 2,
  turns: 1,
  deltas: 2,
};

/** This file is in dist/tests/bench when it runs. */
export const projectRoot = fileURLToPath(new URL("../../..", import.meta.url));

/** Where the rows of one run work. Below the project, because the system's temporary folder may be memory. */
export class Setting {
  readonly #root = join(projectRoot, ".cache", `bench-${process.pid}`);
  #directories = 0;
  #realisticLog: Promise<string> | undefined;

  constructor(readonly sizes: Sizes) {
    process.once("exit", () => {
      rmSync(this.#root, { recursive: true, force: true });
    });
    for (const [signal, exitCode] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
      process.once(signal, () => {
        tell(`stopped by ${signal}`);
        process.exit(exitCode);
      });
    }
  }

  /** A new, empty directory. */
  directory(): string {
    const path = join(this.#root, `${++this.#directories}`);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** A data directory with a long log and its read models, made for the first row that asks. */
  realisticLog(): Promise<string> {
    return (this.#realisticLog ??= this.#buildRealisticLog());
  }

  async #buildRealisticLog(): Promise<string> {
    const directory = this.directory();
    tell(`making a log of ${this.sizes.logEvents} events`);
    await buildRealisticLog(directory, this.sizes.logEvents);
    return directory;
  }
}

/** Standard output is for the figures. */
export function tell(what: string): void {
  process.stderr.write(`bench: ${what}\n`);
}
