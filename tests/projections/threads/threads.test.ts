import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { differences, forget, threadsIn } from "../../support/conversation.js";
import { answered, delta, said, threadCreated, threadDeleted, titled } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** The read models after these facts, a second apart, in thread t. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const [n, fact] of facts.entries()) {
    await record(backend.log, { ...appendOf(write("t", "any", fact)), occurredAt: noon + n * 1_000 });
  }
  return backend;
}

async function row(backend: Backend): Promise<unknown> {
  expect(await differences(backend)).toEqual([]);
  return (await threadsIn(backend))[0];
}

describe("the list of threads", () => {
  test("shows a thread that was created", async () => {
    expect(await row(await after(threadCreated))).toEqual({
      thread_id: "t",
      user_id: "owner",
      channel: "ios",
      title: null,
      title_position: null,
      message_count: 0,
      created_at: "2026-01-01T12:00:00.000Z",
      updated_at: "2026-01-01T12:00:00.000Z",
      position: 1,
    });
  });

  test("counts messages of the owner and of the assistant, and moves with the latest", async () => {
    expect(await row(await after(threadCreated, said("hi"), delta("h"), answered("hello")))).toMatchObject({
      message_count: 2,
      created_at: "2026-01-01T12:00:00.000Z",
      updated_at: "2026-01-01T12:00:03.000Z",
      position: 4,
    });
  });

  test("shows the latest title", async () => {
    expect(await row(await after(threadCreated, titled("First"), titled("Second")))).toMatchObject({ title: "Second" });
  });

  test("leaves out a thread that was deleted", async () => {
    expect(await row(await after(threadCreated, said("hi"), threadDeleted))).toBeUndefined();
  });

  test("counts erased messages no longer", async () => {
    const backend = await after(threadCreated, said("one"), answered("two"), said("three"));
    await forget(backend, 2, 3);
    expect(await row(backend)).toMatchObject({ message_count: 1 });
  });

  test("forgets a title that was erased", async () => {
    const backend = await after(threadCreated, titled("Secret"));
    await forget(backend, 2);
    expect(await row(backend)).toMatchObject({ title: null });
  });

  test("keeps the title when an earlier one was erased", async () => {
    const backend = await after(threadCreated, titled("Secret"), titled("Harmless"));
    await forget(backend, 2);
    expect(await row(backend)).toMatchObject({ title: "Harmless" });
  });

  test("shows the earlier title, or none, when the latest was erased; a rebuild shows the same", async () => {
    const backend = await after(threadCreated, titled("Harmless"), titled("Secret"));
    await forget(backend, 3);
    expect(await row(backend)).not.toMatchObject({ title: "Secret" });
  });

  test("keeps a thread whose beginning was erased, without what it said", async () => {
    const backend = await after(threadCreated, said("hi"));
    await forget(backend, 1);
    expect(await row(backend)).toMatchObject({ thread_id: "t", channel: "", message_count: 1 });
  });

  test("is not disturbed when what is erased belonged to a deleted thread", async () => {
    const backend = await after(threadCreated, said("hi"), threadDeleted);
    await forget(backend, 1, 3);
    expect(await row(backend)).toBeUndefined();
  });
});
