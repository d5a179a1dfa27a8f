import { beforeEach, describe, expect, test } from "@jest/globals";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ReadModelStore, rebuild } from "../../../infra/projector/index.js";
import { projections } from "../../../projections/index.js";
import { messagesProjection } from "../../../projections/threads/messages.js";
import { threadsProjection } from "../../../projections/threads/threads.js";
import { table } from "../../../read-models/shared/table.js";
import { appendOf, record, write } from "../../support/appends.js";
import { quiet, type Backend } from "../../support/backend.js";
import { differences, forget, open, say, textsIn, threadsIn } from "../../support/conversation.js";
import { said } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const secret = "nobody shall ever read this again";
const messages = 700; // Three pages.
let backend: Backend;

/** The secret is the second event. */
async function talk(): Promise<Backend> {
  const opened = await bench.backend();
  await open(opened, "t");
  await say(opened, "t", secret);
  await record(opened.log, appendOf(write("t", "any", ...Array.from({ length: messages }, (_, n) => said(`${n}`)))));
  opened.store.commit();
  return opened;
}

/** A rebuild that has written its first page when its process dies. */
async function dieHalfWay(): Promise<void> {
  const store = ReadModelStore.open(bench.path, quiet);
  const died = rebuild(backend.log, store, projections, { onProgress: () => store.close() });
  await expect(died).rejects.toThrow("not open");
}

function shadows({ store }: Pick<Backend, "store">): string[] {
  return tablesIn(store).filter((name) => name.endsWith("__shadow"));
}

function tablesIn(store: ReadModelStore): string[] {
  return store.db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
}

function filesWithSecret(): string[] {
  return readdirSync(bench.path).filter((name) => readFileSync(join(bench.path, name)).includes(secret));
}

beforeEach(async () => {
  backend = await talk();
});

describe("what a rebuild leaves that did not end", () => {
  test("is nothing, if it was told to stop", async () => {
    const stop = new AbortController();
    const stopped = rebuild(backend.log, backend.store, projections, {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(stopped).rejects.toMatchObject({ name: "AbortError" });
    expect(shadows(backend)).toEqual([]);
  });

  test("is nothing, if a handler threw", async () => {
    const failing = {
      ...messagesProjection,
      on: {
        messageCommitted: () => {
          throw new Error("handler");
        },
      },
    };
    await expect(rebuild(backend.log, backend.store, [failing])).rejects.toThrow("handler");
    expect(shadows(backend)).toEqual([]);
  });

  test("is gone after the next erasure, if its process died: nothing of what was erased is in any file", async () => {
    await dieHalfWay();
    expect(shadows(backend)).not.toEqual([]);
    await forget(backend, 2);
    expect(shadows(backend)).toEqual([]);
    expect(filesWithSecret()).toEqual([]);
  });

  test("is gone after the next start, too", async () => {
    await dieHalfWay();
    backend.close();
    const next = await bench.backend();
    expect(shadows(next)).toEqual([]);
    expect(next.store.db.prepare("SELECT count(*) FROM rebuilds").pluck().get()).toBe(0);
  });
});

describe("a rebuild that lives through an erasure", () => {
  test("begins anew, and does not copy what was erased", async () => {
    const store = bench.closing(ReadModelStore.open(bench.path, quiet));
    const seen: number[] = [];
    await rebuild(bench.log(), store, projections, {
      onProgress: (position) => {
        seen.push(position);
        if (seen.length === 1) void forget(backend, 2);
      },
    });
    await backend.projector.reached(messages + 3);
    expect(seen.filter((position) => position === seen[0])).toHaveLength(2);
    expect(await threadsIn(backend)).toMatchObject([{ message_count: messages }]);
    expect(await differences(backend)).toEqual([]);
    expect(filesWithSecret()).toEqual([]);
  });

  test("gives up when that does not end", async () => {
    const erasing: Promise<unknown>[] = [];
    const rebuilding = rebuild(backend.log, backend.store, projections, {
      onProgress: () => erasing.push(forget(backend, 2 + erasing.length)),
    });
    await expect(rebuilding).rejects.toThrow("events were erased 20 times during a rebuild");
    await Promise.all(erasing);
    expect(await differences(backend)).toEqual([]);
  });
});

describe("a projection that is listed no longer", () => {
  test("is gone after the next start: its table, its checkpoint, and every byte of it", async () => {
    backend.close();
    const renamed = table("utterances", messagesProjection.tables[0]!.columns, { primaryKey: ["message_id"] });
    const was = { ...messagesProjection, name: "was-listed", tables: [renamed], on: {} };
    const before = await bench.backend([threadsProjection, was]);
    before.store.db.prepare(`INSERT INTO utterances VALUES ('m', 't', NULL, 'user', ?, 0, NULL, '', 2)`).run(secret);
    await forget(before, 2);
    before.close();
    expect(filesWithSecret()).toEqual(["read-models.db"]); // It does not handle erasures.
    const { store } = await bench.backend([threadsProjection]);
    expect(tablesIn(store).sort()).toEqual(["checkpoints", "rebuilds", "threads"]);
    expect([...store.checkpoints().keys()]).toEqual(["threads"]);
    expect(filesWithSecret()).toEqual([]);
  });

  test("comes back when it is listed again", async () => {
    backend.close();
    (await bench.backend([threadsProjection])).close();
    const again = await bench.backend();
    expect(await textsIn(again, "t")).toHaveLength(messages + 1);
    expect(await differences(again)).toEqual([]);
  });
});
