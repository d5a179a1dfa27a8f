import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import type { ModelCallRow } from "../../../read-models/budgets/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner, type Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { threadDeleted } from "../../support/facts.js";
import { callFailed, callFinished, callStarted } from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const provenance = { ...fromOwner, turnId: "turn-1" };

/** The read models after these facts, a second apart, in a turn of thread t. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const [n, fact] of facts.entries()) {
    const append = appendOf({ ...write("t", "any", fact), provenance });
    await record(backend.log, { ...append, occurredAt: noon + n * 1_000 });
  }
  return backend;
}

async function rows(backend: Backend): Promise<ModelCallRow[]> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  return backend.store.query.selectFrom("model_calls").selectAll().orderBy("position").execute();
}

const open = {
  call_id: "c1",
  user_id: "owner",
  thread_id: "t",
  turn_id: "turn-1",
  purpose: "turn",
  provider: "provider-1",
  model: "model-1",
  step: 2,
  attempt: 1,
  reserved_tokens: 1_000,
  outcome: null,
  input_tokens: null,
  output_tokens: null,
  cached_input_tokens: null,
  charged_tokens: null,
  started_at: "2026-01-01T12:00:00.000Z",
  ended_at: null,
  position: 1,
  ended_position: null,
};

describe("a call of a model", () => {
  test("is open until it ends", async () => {
    expect(await rows(await after(callStarted("c1")))).toEqual([open]);
  });

  test("that has finished has cost what went in and what came out", async () => {
    const tokens = { input_tokens: 70, output_tokens: 7, cached_input_tokens: 5, charged_tokens: 77 };
    const over = { outcome: "finished", ended_at: "2026-01-01T12:00:01.000Z", ended_position: 2 };
    expect(await rows(await after(callStarted("c1"), callFinished("c1")))).toEqual([{ ...open, ...tokens, ...over }]);
  });

  test("that has failed has cost what was charged for it, and be it nothing", async () => {
    const facts = [callStarted("c1"), callStarted("c2"), callFailed("c2", 0), callFailed("c1", 30)];
    expect(await rows(await after(...facts))).toMatchObject([
      { call_id: "c1", outcome: "failed", input_tokens: null, charged_tokens: 30, ended_position: 4 },
      { call_id: "c2", outcome: "failed", input_tokens: null, charged_tokens: 0, ended_position: 3 },
    ]);
  });

  test("stays when its thread is deleted", async () => {
    expect(await rows(await after(callStarted("c1"), threadDeleted))).toEqual([open]);
  });

  test("whose end was erased is open again", async () => {
    const backend = await after(callStarted("c1"), callFinished("c1"), callStarted("c2"), callFailed("c2"));
    await forget(backend, 2);
    expect(await rows(backend)).toMatchObject([open, { call_id: "c2", outcome: "failed" }]);
    await forget(backend, 4);
    expect(await rows(backend)).toMatchObject([open, { call_id: "c2", outcome: null, charged_tokens: null }]);
  });

  test("whose start was erased is gone", async () => {
    const backend = await after(callStarted("c1"), callStarted("c2"), callFinished("c1"));
    await forget(backend, 1);
    await record(backend.log, appendOf(write("t", "any", callFinished("c2"))));
    expect(await rows(backend)).toMatchObject([{ call_id: "c2", outcome: "finished" }]);
  });
});
