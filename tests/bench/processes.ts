import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { interleave, median, type Measured } from "./measure.js";
import type { Work } from "./memory-child.js";
import type { Benchmark, Setting } from "./setting.js";

const memoryMegabytesMax = 250;

/** What has to be seen from outside: a process of its own for each. */
export const processBenchmarks: readonly Benchmark[] = [
  { name: "start.million.vs_empty", bound: { atMost: 1.3 }, run: compareStarts },
  { name: "rebuild.rss", bound: { atMost: memoryMegabytesMax }, run: (setting) => weighMemory(setting, "rebuild") },
  { name: "replay.rss", bound: { atMost: memoryMegabytesMax }, run: (setting) => weighMemory(setting, "replay") },
];

/** From the birth of the process until it could serve, which is what one waits for. Its own view is told beside it. */
async function compareStarts(setting: Setting): Promise<Measured> {
  const [long, empty] = [await setting.realisticLog(), setting.directory()];
  await runChild("start-child.js", empty); // So that there is an empty log to start with, and not none.
  const inside = { ours: [] as number[], peer: [] as number[] };
  const trial = (directory: string, insideMillis: number[]) => async () => {
    const { said, spokeAfterMillis } = await runChild("start-child.js", directory);
    insideMillis.push(said);
    return spokeAfterMillis;
  };
  const { startRounds } = setting.sizes;
  const measured = await interleave(startRounds, "ms", trial(long, inside.ours), trial(empty, inside.peer));
  return {
    ...measured,
    extra: { ...measured.extra, oursInsideMillis: median(inside.ours), peerInsideMillis: median(inside.peer) },
  };
}

async function weighMemory(setting: Setting, work: Work): Promise<Measured> {
  const directory = await setting.realisticLog();
  const { said: kilobytes } = await runChild("memory-child.js", work, directory);
  return { ours: kilobytes / 1024, peer: null, ratio: null, unit: "MB", extra: { events: setting.sizes.logEvents } };
}

/** Runs one of the programs beside this file: the number that it said, and when. */
async function runChild(program: string, ...args: string[]): Promise<{ said: number; spokeAfterMillis: number }> {
  const started = performance.now();
  const child = spawn(process.execPath, [fileURLToPath(new URL(program, import.meta.url)), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = () => child.kill();
  process.once("exit", kill);
  const closed = once(child, "close");
  let said = "";
  let spokeAfterMillis = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    spokeAfterMillis ||= performance.now() - started;
    said += text;
  });
  const [exitCode] = (await closed) as [number | null];
  process.off("exit", kill);
  if (exitCode !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${exitCode ?? "a signal"}`);
  return { said: Number(said), spokeAfterMillis };
}
