import { rmSync } from "node:fs";
import { temporaryDirectory } from "../support/backend.js";

/** What must not outlive us: undone when we end before we could do it ourselves. */
const leftovers = new Set<() => void>();

process.once("exit", () => {
  // The youngest first: a child ends before the directory goes that it writes to.
  for (const undo of [...leftovers].reverse()) undo();
});

/** Has `undo` called if this process ends before `settled` is called. */
export function undoneAtExit(undo: () => void): { settled(): void } {
  leftovers.add(undo);
  return { settled: () => void leftovers.delete(undo) };
}

/** A directory for some work, gone when the work is done, however it ended. */
export async function withDirectory<T>(work: (path: string) => Promise<T>): Promise<T> {
  const { path } = temporaryDirectory();
  const remove = () => {
    // A process that was just killed may still be letting go of its files.
    rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  };
  const undoing = undoneAtExit(remove);
  try {
    return await work(path);
  } finally {
    remove();
    undoing.settled();
  }
}
