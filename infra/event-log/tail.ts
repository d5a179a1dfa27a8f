import { firstValueFrom, fromEvent, race } from "rxjs";
import { pageEventsMax, type LogReader } from "./log-reader.js";
import type { StoredEvent } from "./record.js";

/** Where to read on: in one thread by sequence, or in the whole log by position. Both exclusive. */
export type Cursor = { readonly threadId: string; readonly afterSequence: number } | { readonly afterPosition: number };

/**
 * Every event after the cursor, page by page: first those that are there, then those that come, until the signal or
 * the end of the log's own life. Replay and live are the same loop, and between finding nothing and waiting there is no
 * moment in which anything else could happen: so nothing is missed or repeated where one becomes the other.
 */
export async function* tail(
  log: LogReader,
  from: Cursor,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[], void, void> {
  let cursor = from;
  while (!signal.aborted && log.isOpen) {
    const page = readAfter(log, cursor);
    if (page === null) {
      await growthOf(log, signal);
      continue;
    }
    cursor = page.cursor;
    yield page.events;
  }
}

/** Every event after the cursor that is there, page by page. */
export function* replay(log: LogReader, from: Cursor): Generator<readonly StoredEvent[], void, void> {
  for (let page = readAfter(log, from); page !== null; page = readAfter(log, page.cursor)) yield page.events;
}

/** Resolves when the log has grown or the signal came; rejects when the log has failed. */
async function growthOf(log: LogReader, signal: AbortSignal): Promise<void> {
  await firstValueFrom(race(log.grown, fromEvent(signal, "abort")), { defaultValue: null });
}

/** A page, and where to go on after it; null if there is nothing yet. */
function readAfter(log: LogReader, cursor: Cursor): { events: readonly StoredEvent[]; cursor: Cursor } | null {
  if ("threadId" in cursor) {
    const { threadId, afterSequence } = cursor;
    const events = log.readThread(threadId, afterSequence, pageEventsMax);
    const last = events.at(-1);
    return last === undefined ? null : { events, cursor: { threadId, afterSequence: last.sequence ?? afterSequence } };
  }
  const events = log.readAll(cursor.afterPosition, pageEventsMax);
  const last = events.at(-1);
  return last === undefined ? null : { events, cursor: { afterPosition: last.position } };
}
