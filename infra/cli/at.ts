import type { Kysely } from "kysely";
import { projections } from "../../projections/index.js";
import { listNotes } from "../../read-models/memory/index.js";
import { listMessages, listThreads, type MessageRow } from "../../read-models/threads/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { LogReader } from "../event-log/index.js";
import { asOf } from "../projector/index.js";
import { parseCount, parseTime, withLog, type CliContext } from "./context.js";
import { exitCodes, UsageError } from "./exit.js";
import { printable, type Output } from "./output.js";
import { withProgress } from "./progress.js";

/** How many rows a list shows at the most. */
const rowsMax = 1_000;

export interface ListOptions {
  readonly thread?: string;
}

interface PastList {
  readonly projections: readonly string[];
  /** Whether it is the list of one thread, which then must be given. */
  readonly isOfThread: boolean;
  readonly print: (query: Kysely<ReadModelTables>, output: Output, threadId: string) => Promise<void>;
}

/** Every list that can be asked about the past, by the name it has on the command line. */
export const listsAt: Readonly<Record<string, PastList>> = {
  messages: {
    projections: ["messages"],
    isOfThread: true,
    print: async (query, output, threadId) => {
      for (const row of await listMessages(query, { threadId, afterPosition: 0, limit: rowsMax }))
        output.print(row, messageLine);
    },
  },
  notes: {
    projections: ["notes"],
    isOfThread: false,
    print: async (query, output) => {
      output.printTable(await listNotes(query, { beforePosition: Number.MAX_SAFE_INTEGER, limit: rowsMax }));
    },
  },
  threads: {
    projections: ["threads"],
    isOfThread: false,
    print: async (query, output) => {
      output.printTable(await listThreads(query, { beforePosition: Number.MAX_SAFE_INTEGER, limit: rowsMax }));
    },
  },
};

/** Prints a list as it was at a position or time. */
export async function listAt(context: CliContext, when: string, name: string, options: ListOptions): Promise<number> {
  const list = Object.hasOwn(listsAt, name) ? listsAt[name] : undefined;
  if (list === undefined)
    throw new UsageError(`there is no list "${name}"; there are ${Object.keys(listsAt).join(", ")}`);
  const threadId = options.thread ?? "";
  if (list.isOfThread && threadId === "") throw new UsageError(`${name} are those of a thread: --thread ID`);
  if (!list.isOfThread && options.thread !== undefined)
    throw new UsageError(`${name} are those of all threads, without --thread`);
  const moment = parseMoment(when);
  return withLog(context, (log) =>
    withProgress("going back", "events", async (onProgress) => {
      const needed = projections.filter((projection) => list.projections.includes(projection.name));
      const print = (query: Kysely<ReadModelTables>) => list.print(query, context.output, threadId);
      await asOf(log, needed, moment(log), print, { signal: context.signal, onProgress });
      return exitCodes.fine;
    }),
  );
}

function messageLine({ created_at, role, content }: MessageRow): string {
  return `${created_at}  ${role.padEnd(9)}  ${printable(content)}`;
}

/** A position, or a time with its offset from UTC: everything that was recorded until then. */
function parseMoment(when: string): (log: LogReader) => number {
  if (/^\d+$/.test(when)) {
    const position = parseCount(when, "POSITION");
    return () => position;
  }
  const time = parseTime(when);
  if (time === null) {
    throw new UsageError(`"${when}" is neither a position nor a time such as 2026-01-31T09:30:00Z`);
  }
  return (log) => log.positionAt(time.toISOString());
}
