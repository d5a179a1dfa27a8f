import { existsSync } from "node:fs";
import { toJson } from "@bufbuild/protobuf";
import type { RecordedEvent } from "../../domain/shared/index.js";
import { ThreadEventSchema } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import {
  exportLog,
  replay,
  tail,
  verifyExport,
  verifyLog,
  type Cursor,
  type Head,
  type LogReader,
  type Verdict,
} from "../event-log/index.js";
import { parseCount, withLog, type CliContext } from "./context.js";
import { exitCodes, UsageError } from "./exit.js";
import { withProgress } from "./progress.js";

const summaryLengthMax = 100;

export interface TailOptions {
  readonly thread?: string;
  readonly from?: string;
  readonly follow?: boolean;
}

/** Prints events in order: those that are there, and with `--follow` those that come. */
export async function logTail(context: CliContext, { thread, from, follow = false }: TailOptions): Promise<number> {
  return withLog(context, async (log) => {
    const after = from === undefined ? 0 : parseCount(from, "--from");
    const cursor: Cursor = thread === undefined ? { afterPosition: after } : { threadId: thread, afterSequence: after };
    for await (const page of follow ? following(log, cursor, context.signal) : replay(log, cursor)) {
      for (const row of page) context.output.print(toView(log.decode(row)), toLine);
    }
    return exitCodes.fine;
  });
}

export async function logShow(context: CliContext, positionText: string): Promise<number> {
  const position = parseCount(positionText, "POSITION");
  return withLog(context, (log) => {
    const [row] = log.readAll(position - 1, 1);
    if (row?.position !== position) throw new Error(`${log.file}: there is no position ${position}`);
    const event = log.decode(row);
    const hex = (bytes: Uint8Array | null) => bytes && Buffer.from(bytes).toString("hex");
    const chain = {
      command_id: row.command_id,
      salt: hex(row.salt),
      digest: hex(row.digest),
      hash: hex(row.hash),
    };
    context.output.print({ ...toView(event), ...chain }, (view) => JSON.stringify(view, null, 2));
    return exitCodes.fine;
  });
}

export interface VerifyOptions {
  readonly head?: string;
  readonly file?: string;
}

/** Walks the chain of the log, or of an export. */
export async function logVerify(context: CliContext, { head, file }: VerifyOptions): Promise<number> {
  const known = head === undefined ? null : parseHead(head);
  const verdict = await withProgress("verifying", "events", (onProgress) =>
    file === undefined
      ? withLog(context, (log) => {
          const { events: total } = log.stats();
          return verifyLog(log, known, (position) => {
            onProgress(position, total);
          });
        })
      : verifyExport(file, known, (position) => {
          onProgress(position, position);
        }),
  );
  context.output.print(toReport(verdict), reportText);
  return verdict.problem === null ? exitCodes.fine : exitCodes.failed;
}

export async function logExport(context: CliContext, file: string): Promise<number> {
  if (existsSync(file)) throw new Error(`${file} exists already; an export never overwrites`);
  return withLog(context, async (log) => {
    const { position: total } = log.head();
    const head = await withProgress("exporting", "events", (onProgress) =>
      exportLog(log, file, (position) => {
        onProgress(position, total);
      }),
    );
    context.output.print({ file, events: head.position, head: headText(head) }, (done) => {
      return `${done.events} events written to ${done.file}\nhead ${done.head}`;
    });
    return exitCodes.fine;
  });
}

export async function logStats(context: CliContext): Promise<number> {
  return withLog(context, (log) => {
    const { types, ...totals } = log.stats();
    context.output.print({ ...totals, head: headText(log.head()), types }, (stats) =>
      [
        ...Object.entries(totals).map(([name, value]) => `${name.padEnd(16)}${value}`),
        `${"head".padEnd(16)}${stats.head}`,
        ...types.map(({ type, events }) => `  ${String(events).padStart(9)}  ${type}`),
      ].join("\n"),
    );
    return exitCodes.fine;
  });
}

async function* following(log: LogReader, cursor: Cursor, signal: AbortSignal): ReturnType<typeof tail> {
  // A log that is only read keeps no process alive; somebody who follows it wants to.
  const stayAlive = setInterval(() => undefined, 60_000);
  try {
    yield* tail(log, cursor, signal);
  } finally {
    clearInterval(stayAlive);
  }
}

interface EventView {
  readonly position: number;
  readonly occurred_at: string;
  readonly type: string;
  readonly stream: string;
  readonly version: number;
  readonly thread_id: string | null;
  readonly sequence: number | null;
  /** The event as protobuf writes it in JSON; null once erased. */
  readonly event: unknown;
}

function toView(event: RecordedEvent): EventView {
  return {
    position: event.position,
    occurred_at: event.occurredAt,
    type: event.type,
    stream: event.stream,
    version: event.version,
    thread_id: event.threadId,
    sequence: event.sequence,
    event: event.envelope === null ? null : toJson(ThreadEventSchema, event.envelope),
  };
}

function toLine(view: EventView): string {
  const payload = (view.event as Record<string, unknown> | null)?.[view.type];
  const said = view.event === null ? "(erased)" : JSON.stringify(payload);
  const summary = said.length > summaryLengthMax ? `${said.slice(0, summaryLengthMax - 1)}…` : said;
  return `${String(view.position).padStart(6)}  ${view.occurred_at}  ${view.type}  ${summary}`;
}

function parseHead(text: string): Head {
  const [, position, hash] = /^(\d+):([0-9a-f]{64})$/.exec(text) ?? [];
  if (position === undefined || hash === undefined)
    throw new UsageError("--head must look like POSITION:HASH, as verify prints it");
  return { position: parseCount(position, "the head's position"), hash };
}

function headText({ position, hash }: Head): string {
  return `${position}:${hash}`;
}

function toReport({ head, erasedEvents, problem }: Verdict) {
  return {
    ok: problem === null,
    verified_events: head.position,
    erased_events: erasedEvents,
    head: headText(head),
    problem,
  };
}

function reportText({ ok, verified_events, erased_events, head, problem }: ReturnType<typeof toReport>): string {
  if (ok) return `ok: ${verified_events} events, ${erased_events} of them erased, nothing altered\nhead ${head}`;
  const where = problem?.position === null ? "" : ` at position ${problem?.position}`;
  return `PROBLEM${where}: ${problem?.what}\nwhole up to ${head}`;
}
