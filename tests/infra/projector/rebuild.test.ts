import { describe, expect, test } from "@jest/globals";
import type { SqliteEventLog } from "../../../infra/event-log/index.js";
import { rebuild, ReadModelStore } from "../../../infra/projector/index.js";
import { projections } from "../../../projections/index.js";
import { messagesProjection } from "../../../projections/threads/messages.js";
import { threadsProjection } from "../../../projections/threads/threads.js";
import { appendOf, record, write } from "../../support/appends.js";
import { quiet, type Backend } from "../../support/backend.js";
import { differences, forget, open, say, textsIn, threadsIn } from "../../support/conversation.js";
import { said } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const messages = 2_100; // Three pages: a rebuild takes a breath between them.

async function longTalk(): Promise<Backend> {
  const backend = await bench.backend();
  await open(backend, "t");
  for (let n = 0; n < messages; n += 700) await record(backend.log, batch(n, 700));
  return backend;
}

function batch(first: number, count: number) {
  return appendOf(write("t", "any", ...Array.from({ length: count }, (_, n) => said(`${first + n}`))));
}

/** A second connection to the same read models and the same log, as another process would have. */
function elsewhere(): { log: SqliteEventLog; store: ReadModelStore } {
  return { log: bench.log(), store: bench.closing(ReadModelStore.open(bench.path, quiet)) };
}

describe("a rebuild while appends go on", () => {
  test("ends where living through it ended", async () => {
    const backend = await longTalk();
    const appended: Promise<unknown>[] = [];
    let pages = 0;
    await rebuild(backend.log, backend.store, projections, {
      onProgress: () => {
        if (pages++ < 2) appended.push(say(backend, "t", `meanwhile ${pages}`));
      },
    });
    expect(pages).toBeGreaterThan(2);
    await Promise.all(appended);
    await say(backend, "t", "afterwards");
    const texts = await textsIn(backend, "t");
    expect(texts.slice(messages)).toEqual(["meanwhile 1", "meanwhile 2", "afterwards"]);
    expect(await differences(backend)).toEqual([]);
  });

  test("serves the old tables until the new ones are ready", async () => {
    const backend = await longTalk();
    const counts: number[] = [];
    await rebuild(backend.log, backend.store, projections, {
      onProgress: () => counts.push(backend.store.db.prepare("SELECT count(*) FROM messages").pluck().get() as number),
    });
    expect(new Set(counts)).toEqual(new Set([messages]));
    expect(counts.length).toBeGreaterThan(2);
  });

  test("ends where living through it ended, when events are erased meanwhile", async () => {
    const backend = await longTalk();
    let pages = 0;
    let erased: Promise<unknown> = Promise.resolve();
    await rebuild(backend.log, backend.store, projections, {
      // Some of these it has read already, and some it has not.
      onProgress: () => {
        if (pages++ === 0) erased = forget(backend, 500, 1_500);
      },
    });
    await erased;
    expect(await threadsIn(backend)).toMatchObject([{ message_count: messages - 1_001 }]);
    expect(await differences(backend)).toEqual([]);
  });

  test("of one projection leaves the others alone", async () => {
    const backend = await longTalk();
    await rebuild(backend.log, backend.store, [threadsProjection]);
    await say(backend, "t", "afterwards");
    expect(await threadsIn(backend)).toMatchObject([{ message_count: messages + 1 }]);
    expect(await differences(backend)).toEqual([]);
  });

  test("does not show an event twice that another process wrote and nobody here has noticed", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    const other = bench.log();
    await record(other, appendOf(write("t", "any", said("unnoticed"))));
    await rebuild(backend.log, backend.store, projections);
    await backend.projector.reached(2);
    await say(backend, "t", "afterwards");
    expect(await textsIn(backend, "t")).toEqual(["unnoticed", "afterwards"]);
    expect(await differences(backend)).toEqual([]);
  });
});

describe("a rebuild by another process", () => {
  test("loses nothing of what the first goes on to write", async () => {
    const backend = await longTalk();
    const second = elsewhere();
    const appended: Promise<unknown>[] = [];
    await rebuild(second.log, second.store, projections, {
      onProgress: (position) => appended.push(say(backend, "t", `at ${position}`)),
    });
    await Promise.all(appended);
    expect(await textsIn(backend, "t")).toHaveLength(messages + appended.length);
    backend.store.commit();
    expect(await textsIn(second, "t")).toEqual(await textsIn(backend, "t"));
    expect(await differences(backend)).toEqual([]);
  });

  test("can be further on than the first, which then does not repeat anything", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    const second = elsewhere();
    await record(second.log, appendOf(write("t", "any", said("one"), said("two"))));
    await rebuild(second.log, second.store, projections);
    await say(backend, "t", "three");
    expect(await textsIn(backend, "t")).toEqual(["one", "two", "three"]);
    expect(await differences(backend)).toEqual([]);
  });
});

describe("a rebuild that does not finish", () => {
  test("because it was told to stop leaves the old tables serving, and can be done later", async () => {
    const backend = await longTalk();
    const stop = new AbortController();
    const stopped = rebuild(backend.log, backend.store, projections, {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(stopped).rejects.toMatchObject({ name: "AbortError" });
    expect(await textsIn(backend, "t")).toHaveLength(messages);
    await say(backend, "t", "afterwards");
    await rebuild(backend.log, backend.store, projections);
    expect(await textsIn(backend, "t")).toHaveLength(messages + 1);
    expect(await differences(backend)).toEqual([]);
  });

  test("because a handler throws leaves the old tables serving, too", async () => {
    const backend = await longTalk();
    const failing = projections.map((projection) => ({
      ...projection,
      on: {
        ...projection.on,
        messageCommitted: () => {
          throw new Error("handler");
        },
      },
    }));
    await expect(rebuild(backend.log, backend.store, failing)).rejects.toThrow("failed at position 2 of the log");
    await say(backend, "t", "afterwards");
    expect(await textsIn(backend, "t")).toHaveLength(messages + 1);
    expect(await differences(backend)).toEqual([]);
  });

  test("because another began says so, and the other wins", async () => {
    const backend = await longTalk();
    const second = elsewhere();
    let other: Promise<void> | undefined;
    const first = rebuild(backend.log, backend.store, projections, {
      onProgress: () => {
        other ??= rebuild(second.log, second.store, projections);
      },
    });
    await expect(first).rejects.toThrow("another rebuild of the same projection has taken over");
    await other;
    await say(backend, "t", "afterwards");
    expect(await differences(backend)).toEqual([]);
  });

  test("is no obstacle to one of another projection", async () => {
    const backend = await longTalk();
    await Promise.all([
      rebuild(backend.log, backend.store, [threadsProjection]),
      rebuild(backend.log, backend.store, [messagesProjection]),
    ]);
    expect(await differences(backend)).toEqual([]);
  });
});
