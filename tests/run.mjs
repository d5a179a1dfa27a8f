// The test command: everything that can be checked without running the code, then the tests.
import { run } from "../infra/launch/child.mjs";
import { ensureInstalled } from "../infra/launch/prepare.mjs";

const floors = ["proto/gen", "domain", "commands", "projections", "read-models", "infra", "tests"];

// The slow ones first, so that they overlap.
const checks = [
  ["types", "node", "infra/launch/run.mjs"],
  ["eslint", "eslint", ".", "--max-warnings=0"],
  ["knip", "knip", "--no-progress"],
  ["prettier", "prettier", "--check", "--log-level=warn", "."],
  ["imports", "depcruise", "--output-type=err-long", ...floors],
  ["buf lint", "buf", "lint", "proto"],
  ["buf format", "buf", "format", "proto", "--diff", "--exit-code"],
  ["buf breaking: last release", "buf", "breaking", "proto", "--against", "proto/baseline.binpb"],
  ["buf breaking: protocol sketch", "buf", "breaking", "proto", "--against", "tests/proto/sketch"],
];
const parallel = 2;

await ensureInstalled();

const failed = [];
const waiting = checks.values();
await Promise.all(Array.from({ length: parallel }, checkInTurn));

const jestExit = await run("jest", process.argv.slice(2), {
  stdio: "inherit",
  env: {
    // Jest runs ES modules through an experimental Node feature; that it is experimental need not be said each time.
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --experimental-vm-modules --disable-warning=ExperimentalWarning`,
  },
});
if (failed.length > 0) process.stderr.write(`\nfailed before the tests: ${failed.join(", ")}\n`);
process.exitCode = failed.length > 0 ? 1 : jestExit;

async function checkInTurn() {
  for (const check of waiting) await runCheck(check);
}

async function runCheck([name, command, ...args]) {
  const started = performance.now();
  const output = [];
  const exit = await run(command, args, { onOutput: (chunk) => output.push(chunk) });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${exit === 0 ? "ok    " : "FAILED"}  ${name}  ${seconds} s\n`);
  if (exit === 0) return;
  failed.push(name);
  process.stdout.write(Buffer.concat(output));
}
