import { randomUUID } from "node:crypto";
import { setImmediate as breathe } from "node:timers/promises";
import type { Projection } from "../../projections/shared/projection.js";
import type { LogReader } from "../event-log/index.js";
import { Applier, readerFor } from "./applier.js";
import type { ReadModelStore } from "./store.js";
import { shadow } from "./table-writer.js";

export interface RebuildOptions {
  /** Where to stop; the end of the log if not given. */
  readonly through?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (position: number, throughPosition: number) => void;
}

/**
 * Makes the tables of some projections anew from the log, beside those that are served, and swaps them in at the end
 * in one transaction. Cancelled or killed half way, the old tables still serve.
 */
export async function rebuild(
  log: LogReader,
  store: ReadModelStore,
  projections: readonly Projection[],
  { through, signal, onProgress }: RebuildOptions = {},
): Promise<void> {
  const token = randomUUID();
  const read = readerFor(log, projections);
  const applier = new Applier(store, shadow);
  const end = () => through ?? log.head().position;
  let position = 0;
  store.beginShadow(projections, token);

  const applyPage = () => {
    if (!store.ownsShadow(projections, token)) throw new Error("another rebuild of the same projection has taken over");
    const page = read(position, end());
    for (const event of page.events) applier.apply(event, projections);
    position = page.throughPosition;
  };

  for (;;) {
    signal?.throwIfAborted();
    const isDone = store.transaction(() => {
      applyPage();
      if (position < end()) return false;
      store.swapShadow(projections);
      for (const projection of projections) store.saveCheckpoint(projection, position, log.hashAt(position) ?? "");
      return true;
    });
    onProgress?.(position, end());
    if (isDone) return;
    await breathe();
  }
}
