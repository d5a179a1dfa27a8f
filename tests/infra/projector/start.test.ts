import { describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { pino } from "pino";
import { logFile } from "../../../infra/event-log/index.js";
import { Projector, ReadModelStore, readModelsFile, staleProjections } from "../../../infra/projector/index.js";
import { projections } from "../../../projections/index.js";
import { messagesProjection } from "../../../projections/threads/messages.js";
import type { Projection } from "../../../projections/shared/projection.js";
import { appendOf, record, recordMany, write } from "../../support/appends.js";
import { openBackend, openTestLog, quiet, type Backend } from "../../support/backend.js";
import { differences, forget, open, remove, say, textsIn, threadsIn } from "../../support/conversation.js";
import { delta } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

async function talk(backend: Backend, ...texts: string[]): Promise<void> {
  await open(backend, "t");
  for (const text of texts) await say(backend, "t", text);
}

/** Projections that remember which positions they were shown. */
function watched(seen: number[], version?: number): Projection[] {
  return projections.map((projection) => ({
    ...projection,
    version: version ?? projection.version,
    on: {
      ...projection.on,
      messageCommitted: (event, write) => {
        if (projection.name === "messages") seen.push(event.position);
        projection.on.messageCommitted?.(event, write);
      },
    },
  }));
}

function positionsOf({ store }: Backend): number[] {
  return [...store.checkpoints().values()].map(({ position }) => position);
}

describe("the read models", () => {
  test("are swept at the next start if an erasure came too late for the last one", async () => {
    const first = await openBackend(bench.path);
    await talk(first, "one", "two");
    first.store.transaction(() => {
      first.store.mustForget(); // And the process ends before it has forgotten.
    });
    first.close();
    const { store } = await bench.backend();
    expect(store.db.pragma("user_version", { simple: true })).toBe(0);
  });

  test("show what a command did as soon as it has answered", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    for (const text of ["one", "two", "three"]) {
      await say(backend, "t", text);
      expect((await textsIn(backend, "t")).at(-1)).toBe(text);
    }
    expect(await threadsIn(backend)).toMatchObject([{ thread_id: "t", channel: "ios", message_count: 3, position: 4 }]);
    await remove(backend, "t");
    expect(await threadsIn(backend)).toEqual([]);
    expect(await textsIn(backend, "t")).toEqual([]);
  });

  test("show what many commands did at once, each to its own caller", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    await Promise.all(
      Array.from({ length: 64 }, async (_, n) => {
        await say(backend, "t", `${n}`);
        expect(await textsIn(backend, "t")).toContain(`${n}`);
      }),
    );
  });

  test("are what a rebuild would make of the log, with erasures and without", async () => {
    const backend = await bench.backend();
    await talk(backend, "one", "two", "three");
    expect(await differences(backend)).toEqual([]);
    await forget(backend, 3);
    expect(await textsIn(backend, "t")).toEqual(["one", "three"]);
    expect(await threadsIn(backend)).toMatchObject([{ message_count: 2 }]);
    expect(await differences(backend)).toEqual([]);
    await forget(backend, 1, 10);
    expect(await textsIn(backend, "t")).toEqual([]);
    expect(await differences(backend)).toEqual([]);
  });

  test("show what another process has written", async () => {
    const backend = await bench.backend();
    await talk(backend, "one");
    const other = bench.log();
    await say({ log: other, readModels: backend.readModels, ids: backend.ids }, "t", "two");
    expect(await textsIn(backend, "t")).toEqual(["one", "two"]);
  });
});

describe("a start", () => {
  test("continues from the checkpoint", async () => {
    const first = await bench.backend(watched([]));
    await talk(first, "one", "two");
    first.close();
    const between = openTestLog(bench.path);
    await recordMany(between, "d", [delta("nobody projects this")]);
    between.close();
    const seen: number[] = [];
    const second = await bench.backend(watched(seen));
    await say(second, "t", "three");
    expect(seen).toEqual([5]);
    expect(await differences(second)).toEqual([]);
  });

  test("continues from the same place, however rarely a projection has something to do", async () => {
    const backend = await bench.backend();
    await talk(backend, "one", "two");
    expect(new Set(positionsOf(backend))).toEqual(new Set([3]));
    const piece = Array.from({ length: 1_000 }, () => delta("x"));
    for (let n = 0; n < 10; n++) await record(backend.log, appendOf(write("d", "any", ...piece)));
    expect(new Set(positionsOf(backend))).toEqual(new Set([10_003]));
  });

  test("saves where it has arrived, even if nothing was to be done", async () => {
    const first = await bench.backend();
    await talk(first, "one");
    await recordMany(first.log, "d", [delta("nobody projects this")]);
    expect(new Set(positionsOf(first))).toEqual(new Set([2]));
    first.close();
    expect(new Set(positionsOf(await bench.backend()))).toEqual(new Set([3]));
  });

  test("catches up with what was written meanwhile", async () => {
    const first = await bench.backend();
    await talk(first, "one");
    first.close();
    const other = bench.log();
    await say({ log: other, readModels: { reached: async () => undefined }, ids: first.ids }, "t", "two");
    other.close();
    expect(await textsIn(await bench.backend(), "t")).toEqual(["one", "two"]);
  });

  test("rebuilds a projection of another version, and only that", async () => {
    const first = await bench.backend();
    await talk(first, "one", "two");
    const seen: number[] = [];
    const changed = projections.map((projection) => {
      return projection.name === "messages" ? watched(seen, 2).find(({ name }) => name === "messages")! : projection;
    });
    const stale = staleProjections(first.log, first.store, changed);
    expect(stale.map(({ name }) => name)).toEqual(["messages"]);
    first.close();
    const second = await bench.backend(changed);
    expect(seen).toEqual([2, 3]);
    second.close();
    const third = await bench.backend(changed);
    expect(await textsIn(third, "t")).toEqual(["one", "two"]);
    expect(seen).toEqual([2, 3]);
    expect(await differences(third, changed)).toEqual([]);
  });

  test("rebuilds a projection whose table is defined otherwise than before, without being told", async () => {
    const first = await bench.backend();
    await talk(first, "one");
    const [messages] = messagesProjection.tables;
    const changed = [{ ...messagesProjection, tables: [{ ...messages!, indexes: [["thread_id"]] }] }];
    expect(staleProjections(first.log, first.store, [messagesProjection])).toEqual([]);
    expect(staleProjections(first.log, first.store, changed)).toEqual(changed);
  });

  test("rebuilds a projection whose table is not there", async () => {
    const first = await bench.backend();
    await talk(first, "one");
    first.store.commit();
    first.store.db.exec("DROP TABLE messages");
    first.close();
    const second = await bench.backend();
    expect(await textsIn(second, "t")).toEqual(["one"]);
    expect(await differences(second)).toEqual([]);
  });

  test("rebuilds everything when the file is gone", async () => {
    const first = await bench.backend();
    await talk(first, "one", "two");
    first.close();
    rmSync(readModelsFile(bench.path));
    const second = await bench.backend();
    expect(await textsIn(second, "t")).toEqual(["one", "two"]);
    expect(await differences(second)).toEqual([]);
  });

  test.each([
    ["is not a database", "Dear diary, today I met a projector. ".repeat(200)],
    ["is too short to be one", "Dear diary"],
    ["begins like one and goes on otherwise", `SQLite format 3\0${"x".repeat(8_000)}`],
    ["is somebody else's", "CREATE TABLE checkpoints (whatever TEXT)"],
    ["is of a version with another bookkeeping", "CREATE TABLE rebuilds (projection TEXT)"],
    ["holds something else altogether", "CREATE TABLE recipes (cake TEXT)"],
  ])("rebuilds everything, with a warning, when the file %s", async (_what, content) => {
    const first = await bench.backend();
    await talk(first, "one");
    first.close();
    rmSync(readModelsFile(bench.path));
    if (content.startsWith("CREATE")) new Database(readModelsFile(bench.path)).exec(content).close();
    else writeFileSync(readModelsFile(bench.path), content);
    const warnings: string[] = [];
    const logger = pino({ level: "warn" }, { write: (line: string) => void warnings.push(line) });
    const log = bench.log();
    const store = bench.closing(ReadModelStore.open(bench.path, logger));
    const projector = bench.closing(new Projector(log, store, projections, quiet));
    await projector.start();
    expect(warnings).toEqual([expect.stringContaining(readModelsFile(bench.path))]);
    expect(await textsIn({ store }, "t")).toEqual(["one"]);
  });

  test("rebuilds everything when the log was replaced by an older copy of itself", async () => {
    const first = await bench.backend();
    await talk(first, "one");
    first.close();
    const copy = bench.elsewhere("copy");
    cpSync(logFile(bench.path), logFile(copy));
    const second = await bench.backend();
    await say(second, "t", "lost");
    second.close();
    cpSync(logFile(copy), logFile(bench.path));
    const third = await bench.backend();
    expect(await textsIn(third, "t")).toEqual(["one"]);
    await say(third, "t", "instead");
    expect(await textsIn(third, "t")).toEqual(["one", "instead"]);
    expect(await differences(third)).toEqual([]);
  });

  test("rebuilds everything when the log is another one, however long", async () => {
    const first = await bench.backend();
    await talk(first, "one");
    first.close();
    const path = bench.elsewhere("other");
    const other = await openBackend(path);
    await talk(other, "eins", "zwei", "drei");
    other.close();
    cpSync(logFile(path), logFile(bench.path));
    const second = await bench.backend();
    expect(await textsIn(second, "t")).toEqual(["eins", "zwei", "drei"]);
    expect(await differences(second)).toEqual([]);
  });

  test("with an empty log has nothing to show", async () => {
    const backend = await bench.backend();
    expect(await threadsIn(backend)).toEqual([]);
    expect(existsSync(readModelsFile(bench.path))).toBe(true);
  });
});
