import { randomUUID } from "node:crypto";
import { setImmediate as breathe } from "node:timers/promises";
import type { Projection } from "../../projections/shared/projection.js";
import { sqliteCode, type LogReader } from "../event-log/index.js";
import { Applier, readerFor } from "./applier.js";
import { beginShadow, dropShadow, shadowOwner, swapShadow } from "./shadow.js";
import type { ReadModelStore } from "./store.js";
import { shadow } from "./table-writer.js";

/** How long a rebuild waits for its turn before it gives up. */
const busyMillisMax = 30_000;
/** How often it begins anew, because somebody had something erased meanwhile, before it gives up. */
const beginningsMax = 20;

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
  const read = readerFor(log, projections, through);
  const applier = new Applier(store, shadow);
  let beginnings = 0;
  let position = 0;
  let endPosition = 0;

  const begin = (): void => {
    if (++beginnings > beginningsMax) throw new Error(`events were erased ${beginningsMax} times during a rebuild`);
    beginShadow(store.db, projections, token);
    position = 0;
  };

  /** One page, and at the end the swap: what was appended meanwhile is part of it. */
  const advance = (): boolean => {
    const owner = shadowOwner(store.db, projections, token);
    if (owner === "another") throw new Error("another rebuild of the same projection has taken over");
    if (owner === "nobody") begin();
    const portion = read(position);
    for (const event of portion.events) applier.apply(event, projections);
    ({ position, endPosition } = portion);
    if (position < endPosition) return false;
    swapShadow(store.db, projections);
    for (const projection of projections) store.saveCheckpoint(projection, position, portion.hash);
    return true;
  };

  try {
    await whenFree(() => {
      store.transaction(begin);
    });
    for (let isDone = false; !isDone;) {
      signal?.throwIfAborted();
      const before = position;
      isDone = await whenFree(() => {
        position = before;
        return store.transaction(advance);
      });
      onProgress?.(position, endPosition);
      await breathe();
    }
  } catch (error) {
    abandon(store, projections, token);
    throw error;
  }
  store.forgetDeleted();
}

/** Takes away what it has made so far. If that fails, the next erasure or the next start does it. */
function abandon(store: ReadModelStore, projections: readonly Projection[], token: string): void {
  try {
    store.transaction(() => {
      if (shadowOwner(store.db, projections, token) === "token") dropShadow(store.db, projections);
    });
    store.forgetDeleted();
  } catch {
    // Why it is abandoned is what the caller has to hear.
  }
}

/** Others write to the same file, in short transactions: this one has its turn in between. */
export async function whenFree<T>(work: () => T): Promise<T> {
  const since = performance.now();
  for (;;) {
    try {
      return work();
    } catch (error) {
      const isBusy = sqliteCode(error).startsWith("SQLITE_BUSY");
      if (!isBusy || performance.now() - since > busyMillisMax) throw error;
      await breathe();
    }
  }
}
