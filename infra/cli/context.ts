import { z } from "zod";
import { openLogReader, type LogReader } from "../event-log/index.js";
import type { Output } from "./output.js";
import { UsageError } from "./exit.js";

/** What every command is given. */
export interface CliContext {
  readonly dataDirectory: string;
  readonly output: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

export async function withLog<T>({ dataDirectory }: CliContext, work: (log: LogReader) => Promise<T> | T): Promise<T> {
  const log = openLogReader(dataDirectory);
  try {
    return await work(log);
  } finally {
    log.close();
  }
}

/** A position or any other count that somebody typed. */
export function parseCount(text: string, what: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(count)) throw new UsageError(`${what} must be a whole number below 2^53, not "${text}"`);
  return count;
}

/** A time with its offset from UTC that somebody typed; null if it is none. */
export function parseTime(text: string): Date | null {
  if (!z.iso.datetime({ offset: true }).safeParse(text).success) return null;
  const time = new Date(text);
  // Times are compared as texts, which a year of more than four digits would not survive.
  return /^\d{4}-/.test(time.toISOString()) ? time : null;
}
