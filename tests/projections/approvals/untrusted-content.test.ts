import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { listUntrustedContent, type UntrustedContentRow } from "../../../read-models/approvals/index.js";
import { failedForNow, finished, intended, toolFinished } from "../../support/action-facts.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { threadDeleted } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const mail = finished(ExecutionOutcome.DONE, { untrusted: true, result: "Dear you", origin: "ann@example.com" });

/** The read models after these facts in thread t. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  await happens(backend, ...facts);
  return backend;
}

/** Those of actions are of action a. */
async function happens({ log }: Backend, ...facts: readonly NewFact[]): Promise<void> {
  for (const fact of facts) {
    const stream = fact.case.startsWith("actionExecution") ? "action-a" : "t";
    await record(log, appendOf({ ...write(stream, "any", fact), threadId: "t" }));
  }
}

async function readIn(backend: Backend, threadId = "t", limit = 10): Promise<UntrustedContentRow[]> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  return listUntrustedContent(backend.store.query, { threadId, limit });
}

describe("what others wrote", () => {
  test("is what tools and actions have brought, the newest first", async () => {
    const backend = await after(intended(), toolFinished("A page"), mail);
    const created_at = "2026-01-01T12:00:00.000Z";
    const page = { tool: "web_open", origin: "https://example.com", text: "A page" };
    const letter = { tool: "gmail_send_draft", origin: "ann@example.com", text: "Dear you" };
    expect(await readIn(backend)).toEqual([
      { position: 1, thread_id: "t", action_id: "a", read_position: 3, ...letter, created_at },
      { position: 2, thread_id: "t", action_id: null, read_position: 2, ...page, created_at },
    ]);
    expect(await readIn(backend, "t", 1)).toMatchObject([letter]);
  });

  test("is not what we wrote ourselves, nor what was read in another thread or in none", async () => {
    const ours = toolFinished("Noted.", { untrusted: false });
    const backend = await after(ours, intended(), finished(ExecutionOutcome.DONE, { result: "Sent." }));
    await record(backend.log, appendOf(write("u", "any", toolFinished("elsewhere"))));
    await record(backend.log, appendOf({ ...write("v", "any", toolFinished("nowhere")), threadId: null }));
    expect(await readIn(backend)).toEqual([]);
    expect(await readIn(backend, "u")).toMatchObject([{ text: "elsewhere" }]);
  });

  test("is also the reason that a provider gives for not doing it, and only the last one", async () => {
    const busy = finished(ExecutionOutcome.FAILED_RETRYABLE, { untrusted: true, reason: "busy" });
    const never = finished(ExecutionOutcome.FAILED, { untrusted: true, reason: "never" });
    const backend = await after(intended(), busy);
    expect(await readIn(backend)).toMatchObject([{ text: "busy" }]);
    await happens(backend, intended(2));
    expect(await readIn(backend)).toEqual([]);
    await happens(backend, never);
    expect(await readIn(backend)).toMatchObject([{ text: "never", position: 3, read_position: 4 }]);
  });

  test("is gone when it was erased, and with its thread", async () => {
    const backend = await after(toolFinished("1"), intended(), mail, toolFinished("3"));
    await record(backend.log, appendOf(write("u", "any", toolFinished("elsewhere"))));
    await forget(backend, 3);
    expect(await readIn(backend)).toMatchObject([{ text: "3" }, { text: "1" }]);
    await happens(backend, threadDeleted);
    expect(await readIn(backend)).toEqual([]);
    expect(await readIn(backend, "u")).toHaveLength(1);
  });

  test("is not kept if it comes after its thread was deleted", async () => {
    const backend = await after(intended(), threadDeleted, mail);
    expect(await readIn(backend)).toEqual([]);
    expect(await backend.store.query.selectFrom("untrusted_content").selectAll().execute()).toEqual([]);
  });

  test.each([
    ["first intent", 1, [{ text: "Dear you" }]],
    ["later intent", 3, []],
    ["outcome that another followed", 2, [{ text: "Dear you" }]],
    ["outcome", 4, []],
  ])("of an action whose %s was erased is what a rebuild shows", async (_, position, expected) => {
    const backend = await after(intended(), failedForNow, intended(2), mail);
    await forget(backend, position);
    expect(await readIn(backend)).toMatchObject(expected);
  });
});
