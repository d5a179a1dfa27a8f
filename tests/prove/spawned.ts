import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { undoneAtExit } from "./scratch.js";

/** No child has more to do than this; one that hangs is ended, and shows as a child that did not exit by itself. */
const childMillisMax = 120_000;
const outputCharactersMax = 64 * 1024 * 1024;

export interface Ended {
  /** null if a signal ended it. */
  readonly code: number | null;
  /** Whole lines only: what a kill cut off was not said. */
  readonly lines: readonly string[];
  readonly stderr: string;
}

/** A compiled child of ours, in a process group of its own, so that a kill reaches whatever runs inside. */
export class Spawned {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #stdout = "";
  #stderr = "";
  #lineCount = 0;
  #hasEnded = false;

  constructor(command: string, args: readonly string[]) {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#child = child;
    const undoing = undoneAtExit(() => {
      this.kill();
    });
    const timeout = setTimeout(() => {
      this.kill();
    }, childMillisMax);
    child.stdin.on("error", () => undefined); // It may end before it was told to go.
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (this.#stdout.length > outputCharactersMax) this.kill();
      this.#stdout += text;
      this.#lineCount += text.split("\n").length - 1;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-10_000);
    });
    this.ended = once(child, "close").then(([code]) => {
      this.#hasEnded = true;
      clearTimeout(timeout);
      undoing.settled();
      return { code: code as number | null, lines: this.#stdout.split("\n").slice(0, -1), stderr: this.#stderr };
    });
    this.ended.catch(() => undefined); // Whoever awaits it hears of it.
  }

  /** Resolves when it has said so many lines, or has ended. */
  async said(lineCount: number): Promise<void> {
    while (!this.#hasEnded && this.#lineCount < lineCount) {
      await Promise.race([this.ended, once(this.#child.stdout!, "data")]);
    }
  }

  go(): void {
    this.#child.stdin?.write("go\n");
  }

  kill(): void {
    if (this.#hasEnded || this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // It ended by itself meanwhile.
    }
  }
}

/** Starts `<entry>.js` of this folder with one argument, as JSON; `wrapper` is a command that runs it. */
export function spawnChild(entry: string, argument: object, wrapper: readonly string[] = []): Spawned {
  const [command, ...args] = [...wrapper, process.execPath, compiled(entry), JSON.stringify(argument)];
  return new Spawned(command, args);
}

/** Children run as plain Node programs, so also under jest they come from dist. */
function compiled(entry: string): string {
  const here = fileURLToPath(import.meta.url);
  const folder = here.endsWith(".ts") ? join(dirname(here), "../../dist/tests/prove") : dirname(here);
  return join(folder, `${entry}.js`);
}

/** Whether a command can be run here and succeeds. */
export function canRun([command, ...args]: readonly string[]): boolean {
  return spawnSync(command ?? "", args, { stdio: "ignore", timeout: 10_000 }).status === 0;
}
