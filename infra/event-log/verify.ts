import { setImmediate as breathe } from "node:timers/promises";
import { LogError, toLogError } from "./errors.js";
import type { Head } from "./heads.js";
import { pageEventsMax, type LogReader } from "./log-reader.js";
import { Verifier, type Problem, type Verdict } from "./verifier.js";

/** A log is opened for writing only if its last events are whole. */
const tailEvents = 64;

/**
 * Verifies a whole log, oldest event first. `known` is a head kept elsewhere: with it, even a cut tail shows.
 * Asks SQLite, too, whether its indexes tell the same story as its table, because watchers read by index.
 */
export async function verifyLog(
  log: LogReader,
  known: Head | null,
  onProgress: (position: number) => void = () => undefined,
): Promise<Verdict> {
  const verifier = new Verifier(known);
  let after = Number.NEGATIVE_INFINITY; // A row smuggled in before the first is a row, too.
  try {
    for (;;) {
      const rows = log.readChain(after, pageEventsMax);
      if (!rows.every((row) => verifier.next(row))) return verifier.verdict();
      const last = rows.at(-1);
      if (last === undefined) break;
      after = last.position;
      onProgress(after);
      await breathe();
    }
  } catch (error) {
    const { head, erasedEvents } = verifier.verdict();
    return { head, erasedEvents, problem: { position: head.position + 1, what: toLogError(error, log.file).message } };
  }
  const verdict = verifier.verdict();
  return verdict.problem === null ? { ...verdict, problem: findFileDamage(log) } : verdict;
}

function findFileDamage(log: LogReader): Problem | null {
  try {
    const damage = log.findFileDamage();
    return damage === null ? null : { position: null, what: damage };
  } catch (error) {
    return { position: null, what: toLogError(error, log.file).message };
  }
}

/** A chain that is broken at its end must not be continued: throws where it is. */
export function verifyTail(log: LogReader): void {
  log.head(); // Refuses a position that cannot be counted on from.
  const last = log.readEndOfChain(tailEvents + 1);
  const [before, ...rest] = last;
  if (before === undefined) return;
  const isWhole = last.length <= tailEvents;
  const verifier = isWhole ? new Verifier(null) : new Verifier(null, { position: before.position, hash: before.hash });
  (isWhole ? last : rest).every((row) => verifier.next(row));
  const { problem } = verifier.verdict();
  if (problem !== null) throw new LogError("broken", log.file, problem.position, problem.what);
}
