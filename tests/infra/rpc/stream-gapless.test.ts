import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { SqliteEventLog } from "../../../infra/event-log/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import { openTestLog, temporaryDirectory } from "../../support/backend.js";
import { delta, said, threadCreated } from "../../support/facts.js";
import { startServer, type TestServer } from "../../support/server.js";
import { compareWithLog, connectTo, noDifferences, Watcher, type Watched } from "../../support/watcher.js";

const watcherCount = 20;
const threadCount = 4;

let directory: ReturnType<typeof temporaryDirectory>;
let server: TestServer;
/** Another writer on the same file, as another process would be: what it writes, the server must notice. */
let log: SqliteEventLog;
let token: string;

beforeEach(async () => {
  directory = temporaryDirectory();
  server = await startServer(directory.path);
  log = openTestLog(directory.path);
  ({ token } = await server.pair());
});
afterEach(async () => {
  log.close();
  await server.stop();
  directory.remove();
});

type Step = { readonly append: number; readonly events: number } | { readonly disconnect: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ append: fc.nat(threadCount - 1), events: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ disconnect: fc.nat(watcherCount - 1) }),
);

describe("a watcher", () => {
  test("sees the log: every event once, in order, byte for byte, however often it was disconnected", async () => {
    let run = 0;
    const follows = async (steps: readonly Step[]) => {
      run += 1;
      const threads = Array.from({ length: threadCount }, (_, index) => `run-${run}-${index}`);
      for (const thread of threads) await record(log, appendOf(write(thread, "no_stream", threadCreated)));
      const watched = Array.from({ length: watcherCount }, (_, index): Watched => {
        const threadId = threads[index % (threadCount + 1)];
        return threadId === undefined ? "log" : { threadId };
      });
      const watchers = watched.map((what) => new Watcher(() => connectTo(server.running.url, token), what));
      const following = watchers.map((watcher) => watcher.follow());
      for (const [index, now] of steps.entries()) {
        if ("disconnect" in now) watchers[now.disconnect]!.disconnect();
        else
          await record(
            log,
            appendOf(write(threads[now.append]!, "any", ...factsOf(`run ${run} step ${index}`, now.events))),
          );
      }
      await Promise.all(
        watchers.map((watcher, index) => {
          const what = watched[index]!;
          return watcher.reached(what === "log" ? log.head().position : log.threadHead(what.threadId));
        }),
      );
      for (const watcher of watchers) watcher.stop();
      await Promise.all(following);
      const differences = watchers.map(({ seen }, index) => compareWithLog(seen, log, watched[index]!));
      expect(differences).toEqual(differences.map(() => noDifferences));
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), follows), { numRuns: 4 });
  });

  test("gets what was written while it was away, and what another process writes while it waits", async () => {
    await record(log, appendOf(write("t", "no_stream", threadCreated, said("one"))));
    const watcher = new Watcher(() => connectTo(server.running.url, token), { threadId: "t" });
    const following = watcher.follow();
    await watcher.reached(2);
    const other = openTestLog(directory.path);
    await record(other, appendOf(write("t", "any", said("two"), said("three"))));
    other.close();
    await watcher.reached(4);
    watcher.stop();
    await following;
    expect(compareWithLog(watcher.seen, log, { threadId: "t" })).toEqual(noDifferences);
  });
});

/** Also one that is long enough to be compressed. */
function factsOf(name: string, count: number) {
  return Array.from({ length: count }, (_, index) =>
    index === 0 ? said(`${name} ${"long ".repeat(400)}`) : delta(`${name}, ${index}`),
  );
}
