// Runs the policy's own tests against changed policies, for policy-mutants.ts: one line of JSON for each of them.
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as original from "../../domain/approvals/policy.js";
import { everyCall } from "./policy-closed-calls.js";
import { compiled, mutantsOf } from "./policy-mutants-made.js";
import { say } from "./say.js";

type Policy = typeof original;

/** What became of one of them. */
export interface Verdict {
  readonly what: string;
  readonly fate: "caught" | "equivalent" | "survived" | "unchanged";
  /** The test that has caught it, or why nothing has. */
  readonly by: string;
}

/** Where this runs from: the compiled product, and its sources above it. */
const dist = fileURLToPath(new URL("../..", import.meta.url));
const sourceFile = join(dist, "../domain/approvals/policy.ts");
const { directory, stride, first } = JSON.parse(process.argv[2]!) as {
  directory: string;
  stride: number;
  first: number;
};

/** As much of jest as these tests use. What they expect is checked by jest's own `expect`. */
const runner = `
import { expect } from "expect";
const cases = [];
const prefix = [];
const describe = (name, define) => { prefix.push(name); define(); prefix.pop(); };
const test = (name, run) => { cases.push({ name: [...prefix, name].join(" "), run }); };
test.each = (rows) => (name, run) => {
  for (const row of rows) test(name.replace("%s", String(row)), () => run(...(Array.isArray(row) ? row : [row])));
};
export { cases, describe, expect, test };
`;

const source = readFileSync(sourceFile, "utf8");
await judged("unchanged", "the policy as it is", source, 0);
for (const [index, mutant] of mutantsOf(source).entries()) {
  if (index % stride !== first % stride) continue;
  await judged("mutant", `line ${mutant.line}: ${mutant.what}`, mutant.source, index + 1);
}

async function judged(kind: "mutant" | "unchanged", what: string, text: string, number: number): Promise<void> {
  const home = join(directory, String(number));
  furnish(home, text);
  const failed = await firstFailure(home).catch((error: unknown) => `it cannot even be loaded: ${String(error)}`);
  say(JSON.stringify({ what, ...(await verdictOn(kind, failed, home)) }));
}

async function verdictOn(
  kind: "mutant" | "unchanged",
  failed: string | null,
  home: string,
): Promise<Omit<Verdict, "what">> {
  if (kind === "unchanged") return { fate: failed === null ? "unchanged" : "survived", by: failed ?? "" };
  if (failed !== null) return { fate: "caught", by: failed };
  const policy = (await import(pathToFileURL(join(home, "domain/approvals/policy.js")).href)) as Policy;
  if (isTheSame(policy)) return { fate: "equivalent", by: "every call there can be is judged the same" };
  return { fate: "survived", by: "no test fails" };
}

/** The room of the policy and of its tests is copied; all else is the product's. */
function furnish(home: string, text: string): void {
  for (const room of ["domain/approvals", "tests/domain/approvals"]) {
    mkdirSync(join(home, room), { recursive: true });
    cpSync(join(dist, room), join(home, room), { recursive: true });
  }
  for (const other of ["domain/shared", "domain/memory", "proto"]) symlinkSync(join(dist, other), join(home, other));
  writeFileSync(join(home, "package.json"), '{ "type": "module" }');
  writeFileSync(join(home, "domain/approvals/policy.js"), compiled(text));
  mkdirSync(join(home, "node_modules/@jest/globals"), { recursive: true });
  for (const name of ["expect", "zod", "@bufbuild"]) symlinkSync(installed(name), join(home, "node_modules", name));
  writeFileSync(join(home, "node_modules/@jest/globals/package.json"), '{ "type": "module", "main": "runner.js" }');
  writeFileSync(join(home, "node_modules/@jest/globals/runner.js"), runner);
}

function installed(name: string): string {
  const [above] = fileURLToPath(import.meta.resolve("zod")).split("/zod/");
  return join(above!, name);
}

/** The first test that fails, or null. */
async function firstFailure(home: string): Promise<string | null> {
  const tests = join(home, "tests/domain/approvals");
  for (const file of readdirSync(tests).filter((name) => /^policy.*\.test\.js$/u.test(name))) {
    await import(pathToFileURL(join(tests, file)).href);
  }
  const { cases } = (await import(pathToFileURL(join(home, "node_modules/@jest/globals/runner.js")).href)) as {
    readonly cases: readonly { readonly name: string; readonly run: () => unknown }[];
  };
  if (cases.length === 0) return "there are no tests";
  for (const { name, run } of cases) {
    try {
      await run();
    } catch {
      return name;
    }
  }
  return null;
}

/** Whether nobody could ever tell the difference: the calls are all there can be. */
function isTheSame(policy: Policy): boolean {
  const rulesOf = ({ policyRules }: Policy) => JSON.stringify(policyRules.map(({ id, says }) => ({ id, says })));
  if (rulesOf(policy) !== rulesOf(original)) return false;
  const breaking: Policy["policyRules"] = [{ id: "broken", says: "", judge: () => JSON.parse("") as null }];
  const rulings = ({ judge, policyRules }: Policy, call: ReturnType<typeof everyCall>[number]) =>
    JSON.stringify([judge(call), judge(call, []), judge(call, breaking), judge(call, policyRules.toReversed())]);
  return everyCall().every((call) => rulings(policy, call) === rulings(original, call));
}
