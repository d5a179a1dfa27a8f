import { firstValueFrom, fromEvent, race } from "rxjs";
import { pageEventsMax, type LogReader } from "./log-reader.js";
import type { StoredEvent } from "./record.js";

/** Where to read on: in one thread by sequence, or in the whole log by position. Both exclusive. */
export type Cursor = { readonly threadId: string; readonly afterSequence: number } | { readonly afterPosition: number };

/**
 * Every event after the cursor, page by page: first those that are there, then those that come, until the signal.
 * Replay and live are the same loop, so nothing can be missed or repeated where one becomes the other.
 */
export async function* tail(
  log: LogReader,
  from: Cursor,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[], void, void> {
  let cursor = from;
  while (!signal.aborted) {
    cursor = yield* replay(log, cursor, signal);
    await growthOf(log, signal);
  }
}

/** Every event after the cursor that is there, page by page. Returns the cursor after the last one. */
export function* replay(
  log: LogReader,
  from: Cursor,
  signal?: AbortSignal,
): Generator<readonly StoredEvent[], Cursor, void> {
  let cursor = from;
  while (signal?.aborted !== true) {
    const events = readAfter(log, cursor);
    const last = events.at(-1);
    if (last === undefined) break;
    cursor = advance(cursor, last);
    yield events;
  }
  return cursor;
}

/** Resolves when the log has grown or the signal came; rejects when the log has failed. */
async function growthOf(log: LogReader, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await firstValueFrom(race(log.grown, fromEvent(signal, "abort")), { defaultValue: null });
}

function readAfter(log: LogReader, cursor: Cursor): readonly StoredEvent[] {
  return "threadId" in cursor
    ? log.readThread(cursor.threadId, cursor.afterSequence, pageEventsMax)
    : log.readAll(cursor.afterPosition, pageEventsMax);
}

function advance(cursor: Cursor, last: StoredEvent): Cursor {
  return "threadId" in cursor
    ? { threadId: cursor.threadId, afterSequence: last.sequence ?? cursor.afterSequence }
    : { afterPosition: last.position };
}
