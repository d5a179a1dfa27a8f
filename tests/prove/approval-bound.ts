import type { Hash } from "../../domain/approvals/index.js";
import { systemHash } from "../../infra/ports/system-hash.js";
import { randomFrom } from "../support/random.js";
import { attempts } from "./approval-bound-cases.js";
import { Stage } from "./approval-bound-stage.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";

/** Of everything the same, so that nothing is bound to anything. */
const blindHash: Hash = () => new Uint8Array(32);

export const approvalBound: Proof = {
  name: "approval.bound",
  promise: "an approval cannot be swapped, reused, or used late",
  sizes: { small: Object.keys(attempts).length, full: 17 * Object.keys(attempts).length },
  run: checkAttempts(systemHash),
  control: (n, seed, onProgress) => checkAttempts(blindHash)(Math.min(n, 60), seed, onProgress),
};

function checkAttempts(hash: Hash): Check {
  return async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    const kinds = Object.entries(attempts);
    for (let index = 0; index < n; index++) {
      const [name, attempt] = kinds[index % kinds.length]!;
      const problem = await withDirectory(async (path) => {
        const stage = new Stage(path, hash);
        try {
          await stage.restart();
          return await attempt(stage, randomFrom(seed * 10_007 + index));
        } finally {
          await stage.end();
        }
      });
      tally.add("ways", index < kinds.length ? 1 : 0);
      tally.case(problem === null ? null : `${name}: ${problem}`);
    }
    return tally.finding();
  };
}
