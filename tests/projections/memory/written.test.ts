import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { findArtifact, findLatestSummary, listArtifacts, listNotes } from "../../../read-models/memory/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner, type Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { said, threadDeleted } from "../../support/facts.js";
import { artifactCreated, noteWritten, summaryWritten } from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const all = { beforePosition: Infinity, limit: 10 };
const created_at = "2026-01-01T12:00:00.000Z";

/** In thread t, at the positions 1, 2 and so on. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const fact of facts) await record(backend.log, appendOf(write("t", "any", fact)));
  return backend;
}

/** What can be asked of it now, which is what could be asked after a rebuild. */
async function queryOf(backend: Backend): Promise<Backend["store"]["query"]> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  return backend.store.query;
}

async function notesIn(backend: Backend): Promise<string[]> {
  return (await listNotes(await queryOf(backend), all)).map(({ note_id, text }) => `${note_id}: ${text}`);
}

describe("a summary", () => {
  test("is kept with what it was made from", async () => {
    const backend = await after(summaryWritten("s1", "all is well"));
    expect(await findLatestSummary(await queryOf(backend), "t")).toEqual({
      summary_id: "s1",
      user_id: "owner",
      thread_id: "t",
      summary_text: "all is well",
      turn_count: 2,
      token_estimate: 12,
      through_position: 9,
      created_at,
      position: 1,
    });
  });

  test("that was erased gives way to the one before", async () => {
    const backend = await after(summaryWritten("s1"), summaryWritten("s2"));
    await forget(backend, 2);
    expect(await findLatestSummary(await queryOf(backend), "t")).toMatchObject({ summary_id: "s1" });
  });

  test("is gone when anything is forgotten that was there before it; those before that are kept", async () => {
    const backend = await after(said("one"), summaryWritten("s1"), said("two"), summaryWritten("s2"), said("three"));
    await record(backend.log, appendOf(write("u", "any", said("else"), summaryWritten("of another"))));
    await forget(backend, 5, 6); // Neither knows of these.
    expect(await findLatestSummary(await queryOf(backend), "t")).toMatchObject({ summary_id: "s2" });
    expect(await findLatestSummary(await queryOf(backend), "u")).toBeUndefined();
    await forget(backend, 3);
    expect(await findLatestSummary(await queryOf(backend), "t")).toMatchObject({ summary_id: "s1" });
    await record(backend.log, appendOf(write("t", "any", summaryWritten("s3"))));
    await forget(backend, 1);
    expect(await findLatestSummary(await queryOf(backend), "t")).toBeUndefined();
  });

  test("is gone with the one that it was made from", async () => {
    const backend = await after(summaryWritten("s1"), summaryWritten("s2"));
    await forget(backend, 1);
    expect(await findLatestSummary(await queryOf(backend), "t")).toBeUndefined();
  });

  test("outlives what it was made from where that is only not kept any longer", async () => {
    const backend = await after(said("one"), summaryWritten("s1"));
    const ranges = [{ first: 1, last: 1 }];
    await backend.log.erase({ occurredAt: noon, ranges, reason: "retention", provenance: fromOwner });
    expect(await findLatestSummary(await queryOf(backend), "t")).toMatchObject({ summary_id: "s1" });
  });

  test("ends with its thread", async () => {
    const backend = await after(summaryWritten("s1"), threadDeleted);
    expect(await findLatestSummary(await queryOf(backend), "t")).toBeUndefined();
  });
});

describe("a note", () => {
  test("is kept when its thread is deleted", async () => {
    const backend = await after(noteWritten("n", "tea"), threadDeleted);
    const note = {
      note_id: "n",
      user_id: "owner",
      thread_id: "t",
      title: "on n",
      text: "tea",
      created_at,
      position: 1,
    };
    expect(await listNotes(await queryOf(backend), all)).toEqual([note]);
  });

  test("of no thread is one, too", async () => {
    const backend = await bench.backend();
    await record(backend.log, appendOf({ ...write("notes", "any", noteWritten("n", "tea")), threadId: null }));
    expect(await listNotes(await queryOf(backend), all)).toMatchObject([{ note_id: "n", thread_id: null }]);
  });

  test("written again is the last that was written", async () => {
    const backend = await after(noteWritten("n", "tea"), noteWritten("m", "milk"), noteWritten("n", "coffee"));
    expect(await notesIn(backend)).toEqual(["n: coffee", "m: milk"]);
  });

  test("that was erased is gone, and what it said before is what is left of it", async () => {
    const backend = await after(noteWritten("n", "tea"), noteWritten("m", "milk"), noteWritten("n", "coffee"));
    await forget(backend, 3);
    expect(await notesIn(backend)).toEqual(["m: milk", "n: tea"]);
    await forget(backend, 1);
    expect(await notesIn(backend)).toEqual(["m: milk"]);
  });
});

describe("an artifact", () => {
  test("is kept with its content, and belongs to a thread and perhaps to a job", async () => {
    const backend = await bench.backend();
    const provenance = { ...fromOwner, jobId: "job-1" };
    await record(backend.log, appendOf({ ...write("t", "any", artifactCreated("a", "abc")), provenance }));
    await record(backend.log, appendOf(write("t", "any", artifactCreated("b", "", "u"))));
    const query = await queryOf(backend);
    const artifact = { artifact_id: "a", user_id: "owner", thread_id: "t", job_id: "job-1", type: "text/plain" };
    const [listed] = await listArtifacts(query, { threadId: "t", ...all });
    expect(listed).toEqual({ ...artifact, title: "on a", created_at, position: 1 });
    expect(await findArtifact(query, "a")).toEqual({ ...listed, blob: Buffer.from("abc") });
    expect(await findArtifact(query, "b")).toMatchObject({ thread_id: "u", job_id: null, blob: Buffer.from("") });
  });

  test("is gone when it was erased, and with its thread", async () => {
    const facts = [artifactCreated("a", "1"), artifactCreated("b", "2"), artifactCreated("c", "3", "u")];
    const backend = await after(...facts, artifactCreated("d", "4", "u"));
    await forget(backend, 1);
    await forget(backend, 3);
    const idsOf = async (threadId: string) =>
      (await listArtifacts(await queryOf(backend), { threadId, ...all })).map(({ artifact_id: id }) => id);
    expect([await idsOf("t"), await idsOf("u")]).toEqual([["b"], ["d"]]);
    await record(backend.log, appendOf(write("t", "any", threadDeleted)));
    expect([await idsOf("t"), await idsOf("u")]).toEqual([[], ["d"]]);
  });
});
