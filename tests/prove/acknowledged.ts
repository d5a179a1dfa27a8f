import { replay, verifyLog, type LogReader, type StoredEvent } from "../../infra/event-log/index.js";
import { compareWithRebuild } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import { openBackend, openTestLog } from "../support/backend.js";
import { labelOf } from "./traffic.js";

/** What a child says when an append was acknowledged. */
export interface Acknowledgement {
  readonly append: string;
  /** null from a child that acknowledged without knowing. */
  readonly events: readonly { readonly position: number; readonly eventId: string }[] | null;
}

export function readAcknowledgements(lines: readonly string[]): Acknowledgement[] {
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Acknowledgement);
}

/** What became of a log. */
export interface Inspection {
  /** How the log broke its promises, or null. */
  readonly problem: string | null;
  /** Acknowledged appends that are not there. */
  readonly lost: number;
}

/** Opens the log as it was left: is everything acknowledged there, once and whole, and does the chain verify? */
export async function inspectLog(directory: string, expected: readonly Acknowledgement[]): Promise<Inspection> {
  const log = openTestLog(directory);
  try {
    return await inspectOpenLog(log, expected);
  } finally {
    log.close();
  }
}

/** The same, and whether the read models equal a rebuild. */
export async function inspectBackend(directory: string, expected: readonly Acknowledgement[]): Promise<Inspection> {
  const backend = await openBackend(directory);
  const { log, store } = backend;
  try {
    const inspection = await inspectOpenLog(log, expected);
    const tables = await compareWithRebuild(log, store, projections);
    const wrong = tables.find(({ servedDigest, rebuiltDigest }) => servedDigest !== rebuiltDigest);
    const problem = wrong && `the table ${wrong.table} is not what a rebuild makes of the log`;
    return { ...inspection, problem: inspection.problem ?? problem ?? null };
  } finally {
    backend.close();
  }
}

export async function inspectOpenLog(log: LogReader, expected: readonly Acknowledgement[]): Promise<Inspection> {
  const { problem } = await verifyLog(log, null);
  if (problem !== null) return { problem: `position ${problem.position}: ${problem.what}`, lost: 0 };
  const rows = [...replay(log, { afterPosition: 0 })].flat();
  const present = gatherAppends(log, rows);
  const lost = expected.filter((acknowledged) => !isPresent(acknowledged, rows, present));
  const missing = lost[0] && `${lost.length} acknowledged appends are lost, first ${lost[0].append}`;
  return { problem: missing ?? findTornAppend(present) ?? findGap(rows), lost: lost.length };
}

interface PresentAppend {
  readonly count: number;
  readonly positions: number[];
}

function gatherAppends(log: LogReader, rows: readonly StoredEvent[]): Map<string, PresentAppend> {
  const appends = new Map<string, PresentAppend>();
  for (const row of rows) {
    const label = labelOf(log.decode(row));
    if (label === null) continue;
    const present = appends.get(label.append) ?? { count: label.count, positions: [] };
    present.positions.push(row.position);
    appends.set(label.append, present);
  }
  return appends;
}

function isPresent(
  { append, events }: Acknowledgement,
  rows: readonly StoredEvent[],
  present: ReadonlyMap<string, PresentAppend>,
): boolean {
  // Positions are gapless from 1, which the chain has shown: so they are indexes, too.
  if (events?.some(({ position, eventId }) => rows[position - 1]?.event_id !== eventId) === true) return false;
  const found = present.get(append);
  return found !== undefined && (events === null || events.length === found.positions.length);
}

/** An append is there whole and once, or not at all, acknowledged or not; and nothing stands between its events. */
function findTornAppend(present: ReadonlyMap<string, PresentAppend>): string | null {
  for (const [name, { count, positions }] of present) {
    if (positions.length !== count) return `of append ${name} there are ${positions.length} events instead of ${count}`;
    if (positions.at(-1)! - positions[0]! !== count - 1) return `something stands between the events of append ${name}`;
  }
  return null;
}

/** Versions and sequences count from 1 without a gap. */
function findGap(rows: readonly StoredEvent[]): string | null {
  const last = new Map<string, number>();
  const follows = (scope: string, number: number) => {
    const isNext = number === (last.get(scope) ?? 0) + 1;
    last.set(scope, number);
    return isNext;
  };
  for (const { position, stream, version, thread_id: threadId, sequence } of rows) {
    if (!follows(`stream ${stream}`, version)) return `position ${position}: version ${version} of ${stream} is a gap`;
    if (threadId !== null && !follows(`thread ${threadId}`, sequence!)) {
      return `position ${position}: sequence ${sequence} of ${threadId} is a gap`;
    }
  }
  return null;
}
