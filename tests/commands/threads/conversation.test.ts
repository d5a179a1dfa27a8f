import { describe, expect, test } from "@jest/globals";
import { contended } from "../../support/contended.js";
import { differences, forget, open, remove, say, textsIn } from "../../support/conversation.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

describe("a conversation", () => {
  test("takes a message once, however often it is sent, also after the thread is gone", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    const first = await say(backend, "t", "hello", "client-1");
    expect(await say(backend, "t", "hello", "client-1")).toEqual(first);
    expect(await textsIn(backend, "t")).toEqual(["hello"]);
    await remove(backend, "t");
    expect(await say(backend, "t", "hello", "client-1")).toEqual(first);
    expect(await say(backend, "t", "new", "client-2")).toMatchObject({ code: "thread_deleted" });
  });

  test("refuses another text under the same id", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    await say(backend, "t", "hello", "client-1");
    expect(await say(backend, "t", "goodbye", "client-1")).toMatchObject({ code: "command_reused" });
  });

  test("takes the same client's id in two threads as two messages", async () => {
    const backend = await bench.backend();
    for (const thread of ["t", "u"]) await open(backend, thread);
    for (const thread of ["t", "u"]) await say(backend, thread, "hello", "client-1");
    expect([await textsIn(backend, "t"), await textsIn(backend, "u")]).toEqual([["hello"], ["hello"]]);
  });

  test("refuses a message that raced with the end of its thread", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    const log = contended(backend.log, 1, () => remove(backend, "t"));
    expect(await say({ ...backend, log }, "t", "late")).toMatchObject({ code: "thread_deleted" });
    expect(backend.log.readThread("t", 0, 10).map(({ type }) => type)).toEqual(["threadCreated", "threadDeleted"]);
  });

  test("of many at once keeps every message", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    const texts = Array.from({ length: 64 }, (_, n) => `${n}`);
    await Promise.all(texts.map((text) => say(backend, "t", text)));
    expect(await textsIn(backend, "t")).toEqual(texts);
    expect(await differences(backend)).toEqual([]);
  });

  test("can be opened again after its beginning was erased: that it was opened is still known", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    await say(backend, "t", "hello");
    await forget(backend, 1);
    expect(await open(backend, "t")).toEqual({ outcome: "done", events: [] });
    expect(await say(backend, "t", "still here")).toMatchObject({ outcome: "done" });
    expect(await differences(backend)).toEqual([]);
  });

  test("stays deleted after its deletion was erased", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    await remove(backend, "t");
    await forget(backend, 2);
    expect(await say(backend, "t", "hello")).toMatchObject({ code: "thread_deleted" });
  });
});

test("what a refused message said is not in the log", async () => {
  const backend = await bench.backend();
  expect(await say(backend, "nowhere", "hello")).toMatchObject({ code: "thread_not_found" });
  await open(backend, "t");
  expect(await say(backend, "t", "")).toMatchObject({ code: "text_empty" });
  expect(backend.log.readAll(0, 10)).toHaveLength(1);
});
