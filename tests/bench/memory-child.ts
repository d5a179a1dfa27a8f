// Does something with all of a log, and says how much memory that took at most: node memory-child.js WORK DIRECTORY
import { existsSync, readFileSync } from "node:fs";
import { openLogReader, tail } from "../../infra/event-log/index.js";
import { ReadModelStore, rebuild } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import { quiet } from "../support/backend.js";

const works = {
  async rebuild(directory: string): Promise<void> {
    const log = openLogReader(directory);
    const store = ReadModelStore.open(directory, quiet);
    await rebuild(log, store, projections);
    store.close();
    log.close();
  },
  async replay(directory: string): Promise<void> {
    const log = openLogReader(directory);
    const end = log.head().position;
    const reading = new AbortController();
    for await (const page of tail(log, { afterPosition: 0 }, reading.signal)) {
      for (const row of page) log.decode(row);
      if (page.at(-1)!.position === end) reading.abort();
    }
    log.close();
  },
};

export type Work = keyof typeof works;

const [work, directory] = process.argv.slice(2) as [Work, string];
await works[work](directory);
process.stdout.write(`${peakKilobytes()}\n`);

/** Linux counts what the parent had at the fork into `maxRSS`; its own status file begins anew with the program. */
function peakKilobytes(): number {
  const status = existsSync("/proc/self/status") ? readFileSync("/proc/self/status", "utf8") : "";
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return peak === undefined ? process.resourceUsage().maxRSS : Number(peak);
}
