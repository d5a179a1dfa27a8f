import type { Verdict } from "./policy-mutants-child.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { spawnChild } from "./spawned.js";

const caughtShareMin = 0.95;
/** The small size tries one in so many. */
const smallStride = 8;
const small = 10;

export const policyMutants: Proof = {
  name: "policy.mutants",
  promise: "every rule is tested",
  // As many as there are.
  sizes: { small, full: 1_000 },
  run: checkMutants(),
  // The policy as it is passes its tests, or the check fails.
  control: null,
};

/** Each condition, decision and rule changed once; the policy's own tests must notice. */
function checkMutants(): Check {
  return (n, seed, onProgress) =>
    withDirectory(async (directory) => {
      const stride = n <= small ? smallStride : 1;
      const child = spawnChild("policy-mutants-child", { directory, stride, first: seed });
      const { code, lines, stderr } = await child.ended;
      if (code !== 0) throw new Error(`the tests could not be run: ${stderr}`);
      const [unchanged, ...mutants] = lines.map((line) => JSON.parse(line) as Verdict);
      if (unchanged?.fate !== "unchanged") throw new Error(`the policy as it is fails: ${unchanged?.by}`);
      const by = (fate: Verdict["fate"]) => mutants.filter((mutant) => mutant.fate === fate);
      const [caught, equivalent, survived] = [by("caught"), by("equivalent"), by("survived")];
      const share = caught.length / (caught.length + survived.length);
      onProgress?.(mutants.length);
      return {
        n: mutants.length,
        violations: share >= caughtShareMin ? 0 : survived.length,
        ...(share < caughtShareMin && { first: `survives: ${survived[0]?.what}` }),
        figures: {
          caught: caught.length,
          "caught %": Math.round(share * 1_000) / 10,
          survived: told(survived),
          equivalent: told(equivalent),
        },
      };
    });
}

function told(mutants: readonly Verdict[]): string {
  return [mutants.length, ...mutants.map(({ what }) => `(${what})`)].join(" ");
}
