// Does whatever makes files, under the umask it is given, and says the mode of every file after each step.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { exportLog } from "../../infra/event-log/index.js";
import { compareWithRebuild, rebuild } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import { fromOwner, openBackend } from "../support/backend.js";
import { randomFrom } from "../support/random.js";
import { say } from "./say.js";
import { nextAppend } from "./traffic.js";

export interface FilesOrders {
  /** Private already; everything is made inside. */
  readonly root: string;
  readonly umask: number;
  /** Whether the product may set the umask it wants. */
  readonly careless: boolean;
}

export interface FoundFile {
  readonly after: string;
  readonly file: string;
  readonly mode: number;
  readonly isDirectory: boolean;
}

/** Enough for a checkpoint of the WAL. */
const appendsPerStep = 300;

const { root, umask, careless } = JSON.parse(process.argv[2] ?? "") as FilesOrders;
process.umask(umask);
if (careless) Object.assign(process, { umask: () => umask });
process.env["TMPDIR"] = root;

const directory = join(root, "data");
const random = randomFrom(umask);
let count = 0;

const first = await openBackend(directory);
look("start");
await append(first.log);
look("checkpoint");
first.close();
look("stop");

const second = await openBackend(directory);
const { log, store } = second;
look("restart");
await append(log);
await rebuild(log, store, projections);
look("rebuild");
await compareWithRebuild(log, store, projections, {
  onProgress: () => {
    look("verify");
  },
});
await exportLog(log, join(directory, "export.jsonl"));
look("export");
await log.erase({
  occurredAt: Date.UTC(2026, 0, 1),
  ranges: [{ first: 1, last: 10 }],
  reason: "forget",
  provenance: fromOwner,
});
look("erasure");
second.close();

/** One commit each: that is what fills a WAL. */
async function append(to: typeof log): Promise<void> {
  for (let index = 0; index < appendsPerStep; index++) await to.append(nextAppend(`f${count++}`, random));
}

function look(after: string): void {
  for (const file of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    const stat = statSync(join(root, file));
    const found: FoundFile = { after, file, mode: stat.mode & 0o777, isDirectory: stat.isDirectory() };
    say(JSON.stringify(found));
  }
}
