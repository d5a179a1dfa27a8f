import type { Projection } from "../../projections/shared/projection.js";
import { projections } from "../../projections/index.js";
import { createLogger } from "../config/logger.js";
import type { LogReader } from "../event-log/index.js";
import { compareWithRebuild, ReadModelStore, rebuild, staleProjections } from "../projector/index.js";
import type { TableComparison } from "../projector/index.js";
import { withLog, type CliContext } from "./context.js";
import { exitCodes, UsageError } from "./exit.js";
import { showProgress } from "./progress.js";

export async function projectionsList(context: CliContext): Promise<number> {
  return withStore(context, (log, store) => {
    const checkpoints = store.checkpoints();
    const stale = new Set(staleProjections(log, store, projections));
    const rows = projections.map((projection) => {
      const position = checkpoints.get(projection.name)?.position ?? 0;
      return {
        projection: projection.name,
        version: projection.version,
        position,
        tables: projection.tables.map(({ name }) => name).join(", "),
        state: stale.has(projection) ? "needs rebuild" : "good",
      };
    });
    context.output.printTable(rows);
    return exitCodes.fine;
  });
}

export async function projectionsRebuild(context: CliContext, names: readonly string[]): Promise<number> {
  const chosen = choose(names);
  return withStore(context, async (log, store) => {
    const progress = showProgress("rebuilding", "events");
    const { signal } = context;
    await rebuild(log, store, chosen, {
      signal,
      onProgress: (position, total) => {
        progress.update(position, total);
      },
    });
    progress.end();
    const checkpoints = store.checkpoints();
    context.output.printTable(
      chosen.map(({ name }) => ({
        projection: name,
        position: checkpoints.get(name)?.position ?? 0,
        state: "rebuilt",
      })),
    );
    return exitCodes.fine;
  });
}

/** Rebuilds beside, compares, and prints what differs. */
export async function projectionsVerify(context: CliContext, names: readonly string[]): Promise<number> {
  const chosen = choose(names);
  return withStore(context, async (log, store) => {
    const stale = staleProjections(log, store, chosen);
    if (stale.length > 0) {
      throw new Error(`${store.file}: ${stale.map(({ name }) => name).join(", ")} must be rebuilt first`);
    }
    const progress = showProgress("rebuilding to compare", "events");
    const { signal } = context;
    const comparisons = await compareWithRebuild(log, store, chosen, {
      signal,
      onProgress: (position, total) => {
        progress.update(position, total);
      },
    });
    progress.end();
    for (const comparison of comparisons) context.output.print(comparison, comparisonText);
    return comparisons.every(isEqual) ? exitCodes.fine : exitCodes.failed;
  });
}

function withStore<T>(
  context: CliContext,
  work: (log: LogReader, store: ReadModelStore) => Promise<T> | T,
): Promise<T> {
  return withLog(context, async (log) => {
    const store = ReadModelStore.open(context.dataDirectory, createLogger("warn"));
    try {
      return await work(log, store);
    } finally {
      store.close();
    }
  });
}

function choose(names: readonly string[]): readonly Projection[] {
  const unknown = names.filter((name) => !projections.some((projection) => projection.name === name));
  if (unknown.length > 0) {
    const known = projections.map(({ name }) => name).join(", ");
    throw new UsageError(`there is no projection ${unknown.join(", ")}; there are ${known}`);
  }
  return names.length === 0 ? projections : projections.filter(({ name }) => names.includes(name));
}

function isEqual({ servedDigest, rebuiltDigest }: TableComparison): boolean {
  return servedDigest === rebuiltDigest;
}

function comparisonText(comparison: TableComparison): string {
  const { table, rows, position, differences, rebuiltDigest } = comparison;
  if (isEqual(comparison))
    return `${table}: no difference in ${rows} rows at position ${position} (${rebuiltDigest.slice(0, 12)})`;
  return [
    `${table}: DIFFERENT at position ${position}`,
    ...differences.flatMap(({ served, rebuilt }) => [
      `  served   ${JSON.stringify(served)}`,
      `  rebuilt  ${JSON.stringify(rebuilt)}`,
    ]),
  ].join("\n");
}
