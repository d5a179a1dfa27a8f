import { writeSync } from "node:fs";

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * What a child says to its parent, one line at a time, synchronously: when this returns, it was said, and no kill takes
 * it back. Waits for a parent that is slow to listen; one that is gone ends the child with EPIPE.
 */
export function say(line: string): void {
  let rest = Buffer.from(`${line}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }
}
