import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { ContentTrust } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { MessageRole } from "../../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { appendOf, record, write } from "../../support/appends.js";
import { fromOwner, type Backend } from "../../support/backend.js";
import { differences, forget, messagesIn, textsIn } from "../../support/conversation.js";
import { answered, delta, said, threadCreated, threadDeleted } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const fact of facts) await record(backend.log, appendOf(write("t", "any", fact)));
  return backend;
}

async function texts(backend: Backend): Promise<string[]> {
  expect(await differences(backend)).toEqual([]);
  return textsIn(backend, "t");
}

describe("the list of messages", () => {
  test("shows who said what, oldest first", async () => {
    const notice = { messageId: "n", role: MessageRole.SYSTEM, text: "notice" };
    const backend = await after(threadCreated, said("hi"), answered("hello"), {
      case: "messageCommitted",
      value: notice,
    });
    expect((await messagesIn(backend, "t")).map(({ role, content, position }) => [position, role, content])).toEqual([
      [2, "user", "hi"],
      [3, "assistant", "hello"],
      [4, "system", "notice"],
    ]);
  });

  test("shows what else is known of a message", async () => {
    const backend = await bench.backend();
    const fact: NewFact = {
      case: "assistantMessageCommitted",
      value: { messageId: "m", fullText: "hello", metadata: { model: "m-1", cost: 2 } },
    };
    const provenance = { ...fromOwner, contentTrust: ContentTrust.UNTRUSTED_MODEL, turnId: "turn-1" };
    await record(backend.log, appendOf({ ...write("t", "any", fact), provenance }));
    expect(await messagesIn(backend, "t")).toEqual([
      {
        message_id: "m",
        thread_id: "t",
        turn_id: "turn-1",
        role: "assistant",
        content: "hello",
        content_trust: ContentTrust.UNTRUSTED_MODEL,
        metadata_json: `{"model":"m-1","cost":2}`,
        created_at: "2026-01-01T12:00:00.000Z",
        position: 1,
      },
    ]);
  });

  test("does not show the pieces of an answer", async () => {
    expect(await texts(await after(threadCreated, delta("he"), delta("llo")))).toEqual([]);
  });

  test("ends with its thread", async () => {
    expect(await texts(await after(threadCreated, said("hi"), threadDeleted))).toEqual([]);
  });

  test("does not show what was erased, and shows what was not", async () => {
    const backend = await after(threadCreated, said("one"), answered("two"), said("three"));
    await record(backend.log, appendOf(write("u", "any", said("other thread"))));
    await forget(backend, 2, 3);
    expect(await texts(backend)).toEqual(["three"]);
    expect(await textsIn(backend, "u")).toEqual(["other thread"]);
  });

  test("does not show what was erased before it was projected", async () => {
    const log = bench.log();
    await record(log, appendOf(write("t", "any", said("one"), said("two"))));
    await forget({ log }, 1);
    log.close();
    expect(await texts(await bench.backend())).toEqual(["two"]);
  });
});
