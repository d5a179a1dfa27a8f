import { expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { findLatestSummary, listArtifacts, listNotes } from "../../../read-models/memory/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { artifactCreated, noteWritten, summaryWritten } from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const numbers = [1, 2, 3, 4, 5];

async function after(threadId: string, ...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  await record(backend.log, appendOf(write(threadId, "any", ...facts)));
  return backend;
}

/** Page after page until there are no more. */
async function pages<T extends { readonly position: number }>(
  list: (beforePosition: number) => Promise<T[]>,
  name: (row: T) => string,
): Promise<string[][]> {
  const found: string[][] = [];
  for (let beforePosition = Number.MAX_SAFE_INTEGER; ;) {
    const rows = await list(beforePosition);
    if (rows.length === 0) return found;
    found.push(rows.map(name));
    beforePosition = rows.at(-1)!.position;
  }
}

test("page after page of notes shows each once, the one written last first", async () => {
  const { store } = await after("t", ...numbers.map((n) => noteWritten(`n${n}`, "tea")), noteWritten("n2", "coffee"));
  const list = (beforePosition: number) => listNotes(store.query, { beforePosition, limit: 2 });
  const found = await pages(list, (row) => `${row.note_id} ${row.text}`);
  expect(found).toEqual([["n2 coffee", "n5 tea"], ["n4 tea", "n3 tea"], ["n1 tea"]]);
});

test("page after page of artifacts shows each of a thread once, newest first, without its content", async () => {
  const { log, store } = await after("t", ...numbers.map((n) => artifactCreated(`a${n}`, "content")));
  await record(log, appendOf(write("u", "any", artifactCreated("other", "content"))));
  const list = (beforePosition: number) => listArtifacts(store.query, { threadId: "t", beforePosition, limit: 2 });
  expect(await pages(list, (row) => row.artifact_id)).toEqual([["a5", "a4"], ["a3", "a2"], ["a1"]]);
  expect((await list(Number.MAX_SAFE_INTEGER))[0]).not.toHaveProperty("blob");
});

test("the latest summary is that of the thread", async () => {
  const { log, store } = await after("t", summaryWritten("s1"), summaryWritten("s2"));
  await record(log, appendOf(write("u", "any", summaryWritten("other"))));
  expect(await findLatestSummary(store.query, "t")).toMatchObject({ summary_id: "s2" });
  expect(await findLatestSummary(store.query, "nobody")).toBeUndefined();
});
