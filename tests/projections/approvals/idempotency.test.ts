import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { IdempotencyRow } from "../../../read-models/approvals/index.js";
import { bytes, done, failedForNow, finished, intended } from "../../support/action-facts.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** Facts of actions, in their order: each with the id of its action. */
async function after(...facts: readonly (readonly [string, NewFact])[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const [actionId, fact] of facts) await happens(backend, actionId, fact);
  return backend;
}

function happens({ log }: Backend, actionId: string, fact: NewFact): Promise<unknown> {
  return record(log, appendOf({ ...write(`action-${actionId}`, "any", fact), threadId: "t" }));
}

async function firstUse(backend: Backend, key = "key", tool = "gmail_send_draft"): Promise<IdempotencyRow | undefined> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  const all = backend.store.query.selectFrom("idempotency").selectAll();
  return all.where("tool_name", "=", tool).where("key", "=", key).orderBy("position").executeTakeFirst();
}

describe("an idempotency key", () => {
  const used = {
    owner_id: "owner",
    tool_name: "gmail_send_draft",
    key: "key",
    args_hash: Buffer.from("args key"),
    result_hash: null,
    action_id: "a",
    created_at: "2026-01-01T12:00:00.000Z",
    position: 1,
    result_position: null,
  };

  test("is used once its action has begun, and has a result once that is done", async () => {
    const backend = await after(["a", intended()]);
    expect(await firstUse(backend)).toEqual(used);
    expect(await firstUse(backend, "another")).toBeUndefined();
    expect(await firstUse(backend, "key", "another")).toBeUndefined();
    await happens(backend, "a", done);
    expect(await firstUse(backend)).toEqual({ ...used, result_hash: Buffer.from("result"), result_position: 2 });
  });

  test("is used once, however often it is tried", async () => {
    const backend = await after(["a", intended()], ["a", failedForNow], ["a", intended(2)], ["a", done]);
    expect(await firstUse(backend)).toMatchObject({ position: 1, result_hash: Buffer.from("result") });
    expect(await backend.store.query.selectFrom("idempotency").select("position").execute()).toHaveLength(1);
  });

  test("has no result if nothing was done", async () => {
    const failed = finished(ExecutionOutcome.FAILED, { resultHash: bytes("nothing") });
    expect(await firstUse(await after(["a", intended()], ["a", failed]))).toMatchObject({ result_hash: null });
  });

  test("belongs to the action that has used it first, and not to another that uses it nevertheless", async () => {
    const backend = await after(["a", intended()], ["b", intended()], ["b", done]);
    expect(await firstUse(backend)).toEqual(used);
    await forget(backend, 2);
    expect(await firstUse(backend)).toEqual(used);
    await happens(backend, "c", intended());
    await forget(backend, 1);
    expect(await firstUse(backend)).toMatchObject({ action_id: "c", position: 5 });
  });

  test("whose result was erased has none", async () => {
    const backend = await after(["a", intended()], ["a", done]);
    await forget(backend, 2);
    expect(await firstUse(backend)).toEqual({ ...used, result_position: 2 });
  });

  test("whose first use was erased is not used, until its action begins anew", async () => {
    const backend = await after(["a", intended()], ["a", failedForNow]);
    await forget(backend, 1);
    expect(await firstUse(backend)).toBeUndefined();
    await happens(backend, "a", intended(1));
    expect(await firstUse(backend)).toMatchObject({ action_id: "a", position: 4, result_position: null });
  });

  test("of what is no action is not kept", async () => {
    const backend = await bench.backend();
    for (const fact of [intended(), done]) await record(backend.log, appendOf(write("elsewhere", "any", fact)));
    expect(await firstUse(backend)).toBeUndefined();
  });
});
