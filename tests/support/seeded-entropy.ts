import { saltBytes } from "../../infra/event-log/chain.js";
import type { Entropy } from "../../infra/event-log/entropy.js";
import type { Random } from "./random.js";

/** Ids and salts that come again with the same seed: so does every byte of the log. */
export function seededEntropy(random: Random): Entropy {
  return {
    eventId: () => Array.from({ length: 32 }, () => random.below(16).toString(16)).join(""),
    fillSalt: (target) => {
      for (let index = 0; index < saltBytes; index++) target[index] = random.below(256);
    },
  };
}
