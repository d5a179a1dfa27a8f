import { expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const compared = [
  "append.single.vs_raw",
  "append.concurrent64.vs_raw",
  "rebuild.vs_raw",
  "log.verify.vs_raw",
  "log.bytes_per_event",
  "start.million.vs_empty",
  "turn.overhead",
  "turns.50",
];
const weighed = ["rebuild.rss", "replay.rss"];
/** What is taken off it may be more than there is, on a machine that is busy. */
const differences = ["turn.delta.latency"];

interface Line {
  readonly name: string;
  readonly ratio: number | null;
  readonly ours: number;
  readonly peer: number | null;
  readonly unit: string;
}

// Whether the figures are good is for the full size to say, on a machine that does nothing else.
test("the benchmark measures every row that needs no peer to be installed, and leaves nothing behind", () => {
  const args = ["--small", "--json", "--only", ...compared, ...weighed, ...differences];
  const run = spawnSync(process.execPath, ["--expose-gc", "infra/launch/run.mjs", "tests/bench/main.js", ...args], {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "" }, // Jest's own are for jest.
  });
  expect({ status: run.status, stderr: run.status === 0 ? "" : run.stderr }).toEqual({ status: 0, stderr: "" });
  const lines = run.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  expect(lines.map(({ name }) => name).toSorted()).toEqual([...compared, ...weighed, ...differences].toSorted());
  for (const { name, ratio, ours, peer, unit } of lines) {
    expect({ name, unit }).toEqual({ name, unit: expect.stringMatching(/./) });
    expect(Number.isFinite(ours)).toBe(true);
    if (differences.includes(name)) continue;
    expect(ours).toBeGreaterThan(0);
    if (weighed.includes(name)) continue; // There is a limit, and nobody to compare with.
    expect(peer).toBeGreaterThan(0);
    expect(Number.isFinite(ratio)).toBe(true);
  }
  expect(readdirSync(".cache").filter((name) => name === `bench-${run.pid}`)).toEqual([]);
});
