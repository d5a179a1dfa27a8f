import type { Database } from "better-sqlite3";
import type { Projection } from "../../projections/shared/projection.js";
import type { LogReader } from "../event-log/index.js";
import { definitionOf, tableNames, type Checkpoint } from "./bookkeeping.js";

interface Served {
  readonly db: Database;
  checkpoints(): ReadonlyMap<string, Checkpoint>;
}

/** Those whose rows cannot be trusted: never built, made by another definition or from another log, or not there. */
export function staleProjections(log: LogReader, served: Served, projections: readonly Projection[]): Projection[] {
  const checkpoints = served.checkpoints();
  const tables = new Set(tableNames(served.db));
  return projections.filter((projection) => {
    const checkpoint = checkpoints.get(projection.name);
    return (
      checkpoint?.definition !== definitionOf(projection) ||
      log.hashAt(checkpoint.position) !== checkpoint.hash ||
      !projection.tables.every(({ name }) => tables.has(name))
    );
  });
}
