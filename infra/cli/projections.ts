import type { Projection } from "../../projections/shared/projection.js";
import { projections } from "../../projections/index.js";
import { createLogger } from "../config/logger.js";
import type { LogReader } from "../event-log/index.js";
import {
  compareWithRebuild,
  isDamage,
  readModelsFile,
  ReadModelStore,
  ReadModelView,
  rebuild,
  staleProjections,
  type TableComparison,
} from "../projector/index.js";
import { withLog, type CliContext } from "./context.js";
import { exitCodes, UsageError } from "./exit.js";
import { withProgress } from "./progress.js";

export async function projectionsList(context: CliContext): Promise<number> {
  return withReadModels(context, (log, openView) => {
    const { position: head } = log.head();
    const view = openView();
    try {
      const checkpoints = view.checkpoints();
      const stale = new Set(staleProjections(log, view, projections));
      const rows = projections.map((projection) => {
        const position = checkpoints.get(projection.name)?.position ?? 0;
        return {
          projection: projection.name,
          version: projection.version,
          position,
          behind: Math.max(0, head - position),
          tables: projection.tables.map(({ name }) => name).join(", "),
          state: stale.has(projection) ? "needs rebuild" : "good",
        };
      });
      context.output.printTable(rows);
      return exitCodes.fine;
    } finally {
      view.close();
    }
  });
}

export async function projectionsRebuild(context: CliContext, names: readonly string[]): Promise<number> {
  const chosen = choose(names);
  return withLog(context, async (log) => {
    const store = ReadModelStore.open(context.dataDirectory, createLogger("warn"));
    try {
      await withProgress("rebuilding", "events", (onProgress) =>
        rebuild(log, store, chosen, { signal: context.signal, onProgress }),
      );
      const checkpoints = store.checkpoints();
      context.output.printTable(
        chosen.map(({ name }) => ({
          projection: name,
          position: checkpoints.get(name)?.position ?? 0,
          state: "rebuilt",
        })),
      );
      return exitCodes.fine;
    } catch (error) {
      throw context.signal.aborted ? new Error("stopped; the old tables still serve", { cause: error }) : error;
    } finally {
      store.close();
    }
  });
}

/** Rebuilds beside, compares, and prints what differs. */
export async function projectionsVerify(context: CliContext, names: readonly string[]): Promise<number> {
  const chosen = choose(names);
  return withReadModels(context, async (log, openView) => {
    const comparisons = await withProgress("rebuilding to compare", "events", (onProgress) =>
      compareWithRebuild(log, { openView }, chosen, { signal: context.signal, onProgress }),
    );
    const reports = comparisons.map(toReport);
    for (const report of reports) context.output.print(report, reportText);
    return reports.every(({ ok }) => ok) ? exitCodes.fine : exitCodes.failed;
  });
}

/** For looking only: a server may be using the file, so whatever is wrong with it, it stays as it is. */
function withReadModels<T>(
  context: CliContext,
  work: (log: LogReader, openView: () => ReadModelView) => Promise<T> | T,
): Promise<T> {
  const file = readModelsFile(context.dataDirectory);
  return withLog(context, async (log) => {
    try {
      return await work(log, () => ReadModelView.open(file));
    } catch (error) {
      if (!isDamage(error)) throw error;
      const advice = "the next start, or `pincer projections rebuild`, makes it anew";
      throw new Error(`${file}: damaged (${String(error)}); ${advice}`, { cause: error });
    }
  });
}

function choose(names: readonly string[]): readonly Projection[] {
  const unknown = names.filter((name) => !projections.some((projection) => projection.name === name));
  if (unknown.length > 0) {
    const known = projections.map(({ name }) => name).join(", ");
    throw new UsageError(`there is no projection ${unknown.map((name) => `"${name}"`).join(", ")}; there are ${known}`);
  }
  return names.length === 0 ? projections : projections.filter(({ name }) => names.includes(name));
}

function toReport({ servedDigest, rebuiltDigest, differences, ...table }: TableComparison) {
  return {
    ok: servedDigest === rebuiltDigest,
    ...table,
    served_digest: servedDigest,
    rebuilt_digest: rebuiltDigest,
    differences,
  };
}

function reportText({ ok, table, rows, position, differences, rebuilt_digest }: ReturnType<typeof toReport>): string {
  if (ok) return `${table}: no difference in ${rows} rows at position ${position} (${rebuilt_digest.slice(0, 12)})`;
  return [
    `${table}: DIFFERENT at position ${position}`,
    ...differences.flatMap(({ served, rebuilt }) => [
      `  served   ${JSON.stringify(served)}`,
      `  rebuilt  ${JSON.stringify(rebuilt)}`,
    ]),
  ].join("\n");
}
