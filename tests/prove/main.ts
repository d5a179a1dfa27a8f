// npm run prove [-- --only NAME] [--json] [--seed N] [--small]
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { isShown, prove, toJson, toRow } from "./outcome.js";
import type { Proof } from "./proof.js";
import { proofs } from "./proofs.js";
import { withDirectory } from "./scratch.js";

const seedEnd = 2 ** 31;
const progressMillis = 2_000;

interface Wish {
  readonly chosen: readonly Proof[];
  readonly seed: number;
  readonly json: boolean;
  readonly size: "small" | "full";
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

const wish = readWish();
if (typeof wish === "string") {
  process.stderr.write(`${wish}\n`);
  process.exitCode = 2;
} else {
  const isAllShown = await withDirectory((scratch) => {
    // Also what the product makes for a while is made in here, and gone if we are interrupted.
    process.env["TMPDIR"] = scratch;
    return proveAll(wish);
  });
  process.exitCode = isAllShown ? 0 : 1;
}

async function proveAll({ chosen, seed, json, size }: Wish): Promise<boolean> {
  let isAllShown = true;
  for (const proof of chosen) {
    const outcome = await prove(proof, size, seed, progressReporter());
    process.stdout.write(`${json ? JSON.stringify(toJson(outcome)) : toRow(outcome)}\n`);
    isAllShown &&= isShown(outcome);
  }
  return isAllShown;
}

/** Says now and then how far it is, so that a long proof does not look like a hanging one. */
function progressReporter(): (what: string, done: number) => void {
  let last = performance.now();
  return (what, done) => {
    if (performance.now() - last < progressMillis) return;
    last = performance.now();
    process.stderr.write(`${what}: ${done}\n`);
  };
}

/** What was asked for, or why it cannot be. */
function readWish(): Wish | string {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", multiple: true, default: [""] },
        json: { type: "boolean", default: false },
        seed: { type: "string", default: String(randomInt(seedEnd)) },
        small: { type: "boolean", default: false },
      },
    });
    const chosen = proofs.filter(({ name }) => values.only.some((prefix) => name.startsWith(prefix)));
    if (chosen.length === 0) return `no proof begins with ${values.only.join(" or ")}; there are ${proofNames()}`;
    if (!/^\d{1,10}$/.test(values.seed)) return `--seed ${values.seed}: a seed is a whole number`;
    return { chosen, seed: Number(values.seed), json: values.json, size: values.small ? "small" : "full" };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function proofNames(): string {
  return proofs.map(({ name }) => name).join(", ");
}
