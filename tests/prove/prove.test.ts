import { describe, expect, test } from "@jest/globals";
import { isClean, prove } from "./outcome.js";
import { proofs } from "./proofs.js";

/** Always the same cases here; `npm run prove` draws new ones. */
const seed = 1;
const proofMillisMax = 60_000;

describe("what we promise:", () => {
  for (const proof of proofs) {
    const unavailable = proof.unavailable?.() ?? null;
    const title = `${proof.name}: ${proof.promise}`;
    if (unavailable !== null) {
      test.skip(`${title} (unavailable: ${unavailable})`, () => undefined);
      continue;
    }
    test(
      title,
      async () => {
        const { finding, control } = await prove(proof, "small", seed);
        expect(finding?.first).toBeUndefined();
        expect(finding !== null && isClean(finding)).toBe(true);
        // A check that finds nothing wrong with a broken variant is worth nothing.
        if (proof.control !== null) expect(control?.violations).toBeGreaterThan(0);
      },
      proofMillisMax,
    );
  }
});
