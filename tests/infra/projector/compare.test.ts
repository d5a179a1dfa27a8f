import { beforeEach, describe, expect, test } from "@jest/globals";
import { asOf, compareWithRebuild, ReadModelStore } from "../../../infra/projector/index.js";
import { projections } from "../../../projections/index.js";
import { messagesProjection } from "../../../projections/threads/messages.js";
import { threadsProjection } from "../../../projections/threads/threads.js";
import { listMessages, listThreads } from "../../../read-models/threads/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { quiet, type Backend } from "../../support/backend.js";
import { differences, forget, open, say } from "../../support/conversation.js";
import { said, threadCreated, threadDeleted } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const both = [threadsProjection, messagesProjection];
let backend: Backend;

describe("a comparison with a rebuild", () => {
  beforeEach(async () => {
    backend = await bench.backend();
    await open(backend, "t");
    for (const text of ["one", "two", "three"]) await say(backend, "t", text);
    backend.store.commit();
  });

  test("finds nothing where nobody meddled", async () => {
    expect(await compareWithRebuild(backend.log, backend.store, both)).toMatchObject([
      { projection: "threads", table: "threads", position: 4, rows: 1, differences: [] },
      { projection: "messages", table: "messages", position: 4, rows: 3, differences: [] },
    ]);
  });

  test("shows both rows where one was changed", async () => {
    backend.store.db.exec("UPDATE messages SET content = 'changed' WHERE content = 'two'");
    expect(await differences(backend)).toMatchObject([
      { served: { content: "changed", position: 3 }, rebuilt: { content: "two", position: 3 } },
    ]);
  });

  test("shows a row that is missing", async () => {
    backend.store.db.exec("DELETE FROM messages WHERE content = 'two'");
    expect(await differences(backend)).toMatchObject([{ served: null, rebuilt: { content: "two" } }]);
  });

  test("shows a row that is too many", async () => {
    backend.store.db.exec(
      "INSERT INTO messages SELECT 'extra', thread_id, turn_id, role, 'extra', content_trust, metadata_json, created_at, 9 FROM messages LIMIT 1",
    );
    expect(await differences(backend)).toMatchObject([{ served: { content: "extra" }, rebuilt: null }]);
  });

  test.each([
    ["null and the text null", "turn_id = 'null'"],
    ["a number and its neighbour", "content_trust = content_trust + 1"],
    ["nothing and an empty text", "metadata_json = ''"],
  ])("tells apart %s", async (_what, change) => {
    backend.store.db.exec(`UPDATE messages SET ${change} WHERE content = 'two'`);
    expect(await differences(backend)).toHaveLength(1);
  });

  test("shows the first differences, not all of them", async () => {
    for (let n = 0; n < 30; n++) await say(backend, "t", `more ${n}`);
    backend.store.commit();
    backend.store.db.exec("DELETE FROM messages");
    expect(await differences(backend)).toHaveLength(20);
  });

  test("compares projections that have not come equally far, each as far as it has come", async () => {
    backend.projector.close();
    await say({ ...backend, readModels: { reached: async () => undefined } }, "t", "four");
    const { hash } = backend.log.head();
    backend.store.db.exec("UPDATE threads SET message_count = 4, position = 5");
    backend.store.transaction(() => {
      backend.store.saveCheckpoint(threadsProjection, 5, hash);
    });
    expect(await compareWithRebuild(backend.log, backend.store, both)).toMatchObject([
      { projection: "threads", position: 5, differences: [] },
      { projection: "messages", position: 4, differences: [] },
    ]);
  });

  test("stands still while the server goes on writing", async () => {
    const second = bench.closing(ReadModelStore.open(bench.path, quiet));
    const written: Promise<unknown>[] = [];
    const comparisons = await compareWithRebuild(backend.log, second, both, {
      onProgress: () => written.push(say(backend, "t", "meanwhile")),
    });
    await Promise.all(written);
    expect(comparisons).toMatchObject([
      { position: 4, differences: [] },
      { position: 4, differences: [] },
    ]);
  });

  test("is refused where a rebuild is due: there is nothing to compare with", async () => {
    const newer = both.map((projection) => ({ ...projection, version: 2 }));
    const refused = compareWithRebuild(backend.log, backend.store, newer);
    await expect(refused).rejects.toThrow(`${backend.store.file}: threads, messages must be rebuilt first`);
  });

  test("can be stopped", async () => {
    const stopped = compareWithRebuild(backend.log, backend.store, projections, { signal: AbortSignal.abort() });
    await expect(stopped).rejects.toMatchObject({ name: "AbortError" });
    expect(await differences(backend)).toEqual([]);
  });
});

describe("the read models as of", () => {
  const minute = 60_000;

  // A minute between one event and the next; the first at noon.
  beforeEach(async () => {
    backend = await bench.backend();
    for (const [n, fact] of [threadCreated, said("one"), said("two"), said("three")].entries()) {
      await record(backend.log, { ...appendOf(write("t", "any", fact)), occurredAt: noon + n * minute });
    }
  });

  function textsAt(position: number): Promise<string[]> {
    return asOf(backend.log, projections, position, async (query) => {
      const rows = await listMessages(query, { threadId: "t", afterPosition: 0, limit: 100 });
      return rows.map(({ content }) => content);
    });
  }

  function countsAt(position: number): Promise<number[]> {
    return asOf(backend.log, projections, position, async (query) => {
      const rows = await listThreads(query, { beforePosition: Number.MAX_SAFE_INTEGER, limit: 100 });
      return rows.map((row) => row.message_count);
    });
  }

  test.each([
    [0, []],
    [1, []],
    [2, ["one"]],
    [3, ["one", "two"]],
    [4, ["one", "two", "three"]],
    [1_000, ["one", "two", "three"]],
  ])("position %d show what was known then", async (position, texts) => {
    expect(await textsAt(position)).toEqual(texts);
  });

  test("position 0 show no thread, and position 1 an empty one", async () => {
    expect([await countsAt(0), await countsAt(1), await countsAt(3)]).toEqual([[], [0], [2]]);
  });

  test.each([
    ["before anything happened", -1, []],
    ["between two events", minute + 1, ["one"]],
    ["at the moment of an event", 2 * minute, ["one", "two"]],
    ["now", 100 * minute, ["one", "two", "three"]],
  ])("a time %s show what was known then", async (_what, afterMillis, texts) => {
    const position = backend.log.positionAt(new Date(noon + afterMillis).toISOString());
    expect(await textsAt(position)).toEqual(texts);
  });

  test("a position before an erasure do not bring back what was erased", async () => {
    await forget(backend, 2);
    expect(await textsAt(4)).toEqual(["two", "three"]);
    expect(await textsAt(5)).toEqual(["two", "three"]);
    expect([await countsAt(4), await countsAt(5)]).toEqual([[3], [2]]);
  });

  test("a position before a deletion show what was deleted", async () => {
    await record(backend.log, appendOf(write("t", "any", threadDeleted)));
    expect([await textsAt(4), await textsAt(5)]).toEqual([["one", "two", "three"], []]);
    expect([await countsAt(4), await countsAt(5)]).toEqual([[3], []]);
  });
});
