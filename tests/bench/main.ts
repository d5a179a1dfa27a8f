import { Command } from "commander";
import { appendBenchmarks } from "./append.js";
import { approvalBenchmarks } from "./approvals.js";
import { emmettBenchmarks } from "./emmett.js";
import { longLogBenchmarks } from "./long-log.js";
import { isKept } from "./measure.js";
import { processBenchmarks } from "./processes.js";
import { rpcBenchmarks } from "./rpc.js";
import { tableHead, toJsonLine, toTableLine, type Result } from "./report.js";
import { fullSizes, Setting, smallSizes, tell, type Benchmark } from "./setting.js";
import { turnBenchmarks } from "./turns.js";

const benchmarks = [
  ...appendBenchmarks,
  ...emmettBenchmarks,
  ...longLogBenchmarks,
  ...processBenchmarks,
  ...rpcBenchmarks,
  ...approvalBenchmarks,
  ...turnBenchmarks,
];

interface Options {
  readonly json?: true;
  readonly small?: true;
  readonly only?: string[];
}

const options = new Command("npm run bench --")
  .option("--json", "print one JSON object a line")
  .option("--only <name...>", "run only the rows whose names begin so")
  .option("--small", "run in a tiny size, which says nothing about speed")
  .parse()
  .opts<Options>();

const chosen = benchmarks.filter(({ name }) => options.only?.some((prefix) => name.startsWith(prefix)) ?? true);
if (chosen.length === 0) {
  process.stderr.write(`no such row; there are: ${benchmarks.map(({ name }) => name).join(", ")}\n`);
  process.exit(2);
}

const setting = new Setting(options.small === true ? smallSizes : fullSizes);
if (options.json !== true) print(tableHead);
for (const benchmark of chosen) {
  tell(benchmark.name);
  try {
    await report(benchmark);
  } catch (error) {
    // Without a network the peers cannot be installed; the other rows can be measured all the same.
    tell(`${benchmark.name} could not be measured: ${String(error)}`);
    process.exitCode = 1;
  }
}

async function report({ name, bound, run }: Benchmark): Promise<void> {
  const measured = await run(setting);
  const result: Result = { name, bound, measured, kept: bound === null || isKept(bound, measured) };
  print(options.json === true ? toJsonLine(result) : toTableLine(result));
  if (!result.kept && options.small !== true) process.exitCode = 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
