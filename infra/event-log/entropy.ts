import { randomFillSync } from "node:crypto";
import type { Ids } from "../../commands/ports/index.js";
import { saltBytes } from "./chain.js";

const pooledSalts = 512;

/** The randomness a log needs; the simulation brings its own. */
export interface Entropy {
  eventId(): string;
  /** Writes `saltBytes` random bytes at the start of `target`. */
  fillSalt(target: Uint8Array): void;
}

/** Salts are drawn from a pool, because asking the system for sixteen bytes costs as much as for thousands. */
export function systemEntropy(ids: Ids): Entropy {
  const pool = Buffer.alloc(saltBytes * pooledSalts);
  let used = pool.length;
  return {
    eventId: () => ids.next(),
    fillSalt(target) {
      if (used === pool.length) {
        randomFillSync(pool);
        used = 0;
      }
      target.set(pool.subarray(used, used + saltBytes));
      used += saltBytes;
    },
  };
}
