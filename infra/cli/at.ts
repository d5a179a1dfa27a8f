import type { Kysely } from "kysely";
import { projections } from "../../projections/index.js";
import { listMessages, listThreads, type MessageRow } from "../../read-models/threads/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { LogReader } from "../event-log/index.js";
import { asOf } from "../projector/index.js";
import { parseCount, withLog, type CliContext } from "./context.js";
import { exitCodes, UsageError } from "./exit.js";
import { printable, type Output } from "./output.js";
import { showProgress } from "./progress.js";

/** How many rows a list shows at the most. */
const rowsMax = 1_000;

export interface ListOptions {
  readonly thread?: string;
}

interface PastList {
  readonly projections: readonly string[];
  readonly print: (query: Kysely<ReadModelTables>, output: Output, options: ListOptions) => Promise<void>;
}

/** Every list that can be asked about the past, by the name it has on the command line. */
export const listsAt: Readonly<Record<string, PastList>> = {
  messages: {
    projections: ["messages"],
    print: async (query, output, { thread: threadId }) => {
      if (threadId === undefined) throw new UsageError("messages are those of a thread: --thread ID");
      for (const row of await listMessages(query, { threadId, afterPosition: 0, limit: rowsMax }))
        output.print(row, messageLine);
    },
  },
  threads: {
    projections: ["threads"],
    print: async (query, output) => {
      output.printTable(await listThreads(query, { beforePosition: Number.MAX_SAFE_INTEGER, limit: rowsMax }));
    },
  },
};

/** Prints a list as it was at a position or time. */
export async function listAt(context: CliContext, when: string, name: string, options: ListOptions): Promise<number> {
  const list = listsAt[name];
  if (list === undefined)
    throw new UsageError(`there is no list ${name}; there are ${Object.keys(listsAt).join(", ")}`);
  return withLog(context, async (log) => {
    const position = toPosition(log, when);
    const progress = showProgress("going back", "events");
    const needed = projections.filter((projection) => list.projections.includes(projection.name));
    await asOf(log, needed, position, (query) => list.print(query, context.output, options), {
      signal: context.signal,
      onProgress: (done, total) => {
        progress.update(done, total);
      },
    });
    progress.end();
    return exitCodes.fine;
  });
}

function messageLine({ created_at, role, content }: MessageRow): string {
  return `${created_at}  ${role.padEnd(9)}  ${printable(content)}`;
}

/** A position, or a moment with its offset from UTC: everything that was recorded until then. */
function toPosition(log: LogReader, when: string): number {
  if (/^\d+$/.test(when)) return parseCount(when, "POSITION");
  const hasOffset = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(when);
  const millis = hasOffset ? Date.parse(when) : NaN;
  if (Number.isNaN(millis)) {
    throw new UsageError(`"${when}" is neither a position nor a time such as 2026-01-31T09:30:00Z`);
  }
  return log.positionAt(new Date(millis).toISOString());
}
