import type { StoredEvent } from "../../infra/event-log/index.js";
import { interleave, perSecond, type Measured, type Trial } from "./measure.js";
import { messageAppend } from "./messages.js";
import { openOurs, type Ours } from "./ours.js";
import { openRawLog, prepareInsert, rowsLike } from "./raw.js";
import type { Benchmark, Setting } from "./setting.js";

const callers = 64;

export const appendBenchmarks: readonly Benchmark[] = [
  {
    name: "append.single.vs_raw",
    bound: { atLeast: 0.65 },
    run: (setting) => compareWithRaw(setting, (ours) => appendOneByOne(ours, setting.sizes.singleAppends)),
  },
  {
    name: "append.concurrent64.vs_raw",
    bound: { atLeast: 3 },
    run: (setting) => compareWithRaw(setting, (ours) => appendConcurrently(ours, setting.sizes.concurrentAppends)),
  },
];

async function compareWithRaw(setting: Setting, trial: (ours: Ours) => Promise<number>): Promise<Measured> {
  const { rounds, singleAppends } = setting.sizes;
  const ours = await openOurs(setting.directory(), 1);
  const raw = openRawLog(setting.directory());
  try {
    const row = await appendSample(ours);
    const insert = prepareInsert(raw);
    let position = 0;
    const insertOneByOne: Trial = () => {
      const rows = rowsLike(row, position, singleAppends);
      position += singleAppends;
      return perSecond(singleAppends, () => {
        for (const values of rows) insert.run(...values);
      });
    };
    return await interleave(rounds, "events/s", () => trial(ours), insertOneByOne);
  } finally {
    ours.close();
    raw.close();
  }
}

/** What our own log stores for a message: the raw rows are made in its image. */
async function appendSample(ours: Ours): Promise<StoredEvent> {
  await ours.append(messageAppend(ours.threadIds[0]!));
  const { log } = ours.backend;
  return log.readAll(log.head().position - 1, 1)[0]!;
}

/** One caller who waits for each. What is appended is made before the clock runs, here as at the peers. */
export function appendOneByOne(ours: Ours, appendCount: number, eventsPerAppend = 1): Promise<number> {
  const appends = Array.from({ length: appendCount }, () => messageAppend(ours.threadIds[0]!, eventsPerAppend));
  return perSecond(appendCount * eventsPerAppend, async () => {
    for (const append of appends) await ours.append(append);
  });
}

/** The same appends as from one caller, by many at once: each appends again as soon as it is answered. */
function appendConcurrently(ours: Ours, appendCount: number): Promise<number> {
  const appends = Array.from({ length: callers }, () =>
    Array.from({ length: appendCount / callers }, () => messageAppend(ours.threadIds[0]!)),
  );
  return perSecond(appendCount, async () => {
    await Promise.all(
      appends.map(async (own) => {
        for (const append of own) await ours.append(append);
      }),
    );
  });
}
