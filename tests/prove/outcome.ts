import type { Check, Finding, OnProgress, Proof } from "./proof.js";

/** What came of a proof. */
export interface Outcome {
  readonly proof: Proof;
  readonly seed: number;
  readonly seconds: number;
  /** Why it could not be run here; then there is nothing else to tell. */
  readonly unavailable: string | null;
  readonly finding: Finding | null;
  readonly control: Finding | null;
}

/** Runs a proof and its control. */
export async function prove(
  proof: Proof,
  size: "small" | "full",
  seed: number,
  onProgress: (what: string, done: number) => void = () => undefined,
): Promise<Outcome> {
  const unavailable = proof.unavailable?.() ?? null;
  if (unavailable !== null) return { proof, seed, seconds: 0, unavailable, finding: null, control: null };
  const n = proof.sizes[size];
  const started = performance.now();
  const finding = await survey(proof.run, n, seed, (done) => {
    onProgress(`${proof.name}, of ${n}`, done);
  });
  const control =
    proof.control &&
    (await survey(proof.control, n, seed, (done) => {
      onProgress(`${proof.name}, control`, done);
    }));
  return { proof, seed, seconds: (performance.now() - started) / 1000, unavailable, finding, control };
}

/** A check that cannot even be carried out has shown nothing. */
async function survey(check: Check, n: number, seed: number, onProgress: OnProgress): Promise<Finding> {
  try {
    return await check(n, seed, onProgress);
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { n: 0, violations: 0, first: `the check itself failed: ${what}` };
  }
}

/** Whether a finding is without violations, and a finding at all. */
export function isClean({ n, violations }: Finding): boolean {
  return n > 0 && violations === 0;
}

/** The promise was kept, and its check can tell when it is not. */
export function isShown({ unavailable, finding, proof, control }: Outcome): boolean {
  if (unavailable !== null) return true; // Said, not hidden: see the row.
  return finding !== null && isClean(finding) && (proof.control === null || (control?.violations ?? 0) > 0);
}

export function toRow(outcome: Outcome): string {
  const { proof, seed, seconds, unavailable, finding } = outcome;
  const head = `${proof.name.padEnd(18)} ${proof.promise}`;
  if (unavailable !== null || finding === null) return `${head} | unavailable: ${unavailable}`;
  const figures = Object.entries(finding.figures ?? {}).map(([name, value]) => `${name} ${value}`);
  return [
    head,
    `n ${finding.n}`,
    `seed ${seed}`,
    `${seconds.toFixed(1)} s`,
    describe(finding),
    ...(figures.length > 0 ? [figures.join(", ")] : []),
    describeControl(outcome),
  ].join(" | ");
}

function describe({ n, violations, first }: Finding): string {
  if (n === 0) return first ?? "NOTHING WAS CHECKED";
  return violations === 0 ? "0 violations" : `${violations} VIOLATIONS, first: ${first ?? "?"}`;
}

function describeControl({ proof, control }: Outcome): string {
  if (proof.control === null) return "no control";
  if (control === null || control.violations === 0) return `CONTROL FOUND NOTHING ${control?.first ?? ""}`.trim();
  return `control fails as it must: ${control.violations}/${control.n}`;
}

export function toJson(outcome: Outcome): object {
  const { proof, seed, seconds, unavailable, finding, control } = outcome;
  return {
    name: proof.name,
    promise: proof.promise,
    seed,
    seconds: Math.round(seconds * 1000) / 1000,
    shown: isShown(outcome),
    ...(unavailable !== null && { unavailable }),
    ...finding,
    control,
  };
}
