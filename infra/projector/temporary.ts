import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { pino } from "pino";
import type { Projection } from "../../projections/shared/projection.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { LogReader } from "../event-log/index.js";
import { rebuild, type RebuildOptions } from "./rebuild.js";
import { ReadModelStore } from "./store.js";

/** Read models of one's own, gone when the work is done. */
export async function withTemporaryStore<T>(work: (store: ReadModelStore) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "pincer-"));
  const store = ReadModelStore.open(directory, pino({ enabled: false }));
  try {
    return await work(store);
  } finally {
    store.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The read models as they were at a position, for any query. */
export function asOf<T>(
  log: LogReader,
  projections: readonly Projection[],
  position: number,
  ask: (query: Kysely<ReadModelTables>) => Promise<T>,
  options: Pick<RebuildOptions, "signal" | "onProgress"> = {},
): Promise<T> {
  return withTemporaryStore(async (store) => {
    await rebuild(log, store, projections, { ...options, through: Math.min(position, log.head().position) });
    return ask(store.query);
  });
}
