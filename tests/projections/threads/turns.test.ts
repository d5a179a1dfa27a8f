import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { asOf } from "../../../infra/projector/index.js";
import { turnsProjection } from "../../../projections/threads/turns.js";
import { TriggerType } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { TurnRow } from "../../../read-models/threads/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { threadCreated, threadDeleted } from "../../support/facts.js";
import {
  turnCompleted,
  turnFailed,
  turnPaused,
  turnQueued,
  turnResumed,
  turnStarted,
} from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** The read models after these facts, a second apart, in thread t, at the positions 1, 2 and so on. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const [n, fact] of facts.entries()) {
    await record(backend.log, { ...appendOf(write("t", "any", fact)), occurredAt: noon + n * 1_000 });
  }
  return backend;
}

/** Every turn, by the order of the log, which a rebuild shows as well. */
async function rows(backend: Backend): Promise<TurnRow[]> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  return backend.store.query.selectFrom("turns").selectAll().orderBy("position").execute();
}

/** What has become of each turn. */
async function statuses(backend: Backend): Promise<Record<string, string>> {
  return Object.fromEntries((await rows(backend)).map((row) => [row.turn_id, row.status]));
}

describe("a turn", () => {
  test("waits, runs and completes", async () => {
    const queued = {
      turn_id: "b",
      user_id: "owner",
      thread_id: "t",
      status: "queued",
      trigger_type: TriggerType.CHAT_MESSAGE,
      user_message_id: "ask b",
      assistant_message_id: null,
      failure_code: null,
      started_at: null,
      ended_at: null,
      position: 2,
      started_position: null,
      ended_position: null,
    };
    const backend = await after(threadCreated, turnQueued("b"));
    expect(await rows(backend)).toEqual([queued]);
    await record(backend.log, appendOf(write("t", "any", turnStarted("b"))));
    const running = { ...queued, status: "running", started_at: "2026-01-01T12:00:00.000Z", position: 3 };
    expect(await rows(backend)).toEqual([{ ...running, started_position: 3 }]);
    await record(backend.log, appendOf(write("t", "any", turnCompleted("answer"))));
    const over = { status: "completed", ended_at: "2026-01-01T12:00:00.000Z", ended_position: 4 };
    expect(await rows(backend)).toEqual([{ ...running, started_position: 3, ...over, assistant_message_id: "answer" }]);
  });

  test("pauses and resumes", async () => {
    const backend = await after(turnStarted("a"), turnPaused);
    expect(await statuses(backend)).toEqual({ a: "paused" });
    await record(backend.log, appendOf(write("t", "any", turnResumed)));
    expect(await statuses(backend)).toEqual({ a: "running" });
  });

  test("that fails says why, while it runs and while it is paused", async () => {
    const facts = [turnStarted("a"), turnFailed("timeout"), turnStarted("b"), turnPaused, turnFailed("rejected")];
    expect(await rows(await after(...facts))).toMatchObject([
      { turn_id: "a", status: "failed", failure_code: "timeout", ended_position: 2 },
      { turn_id: "b", status: "failed", failure_code: "rejected", ended_position: 5 },
    ]);
  });

  test("that ends is the active one of its thread, and no other", async () => {
    const backend = await after(turnStarted("a"), turnQueued("b"), turnCompleted("x"), turnStarted("b"));
    await record(backend.log, appendOf(write("u", "any", turnStarted("c"), turnQueued("d"), turnFailed("cut"))));
    expect(await statuses(backend)).toEqual({ a: "completed", b: "running", c: "failed", d: "queued" });
  });

  test("ends with its thread", async () => {
    const facts = [turnStarted("a"), turnCompleted("x"), turnStarted("b"), turnQueued("c"), threadDeleted];
    expect(await statuses(await after(...facts))).toEqual({});
  });
});

describe("erased", () => {
  const story = [turnStarted("a"), turnQueued("b"), turnCompleted("x"), turnStarted("b"), turnFailed("cut")];

  test("an end leaves that it was one, and not what it said", async () => {
    const backend = await after(...story);
    await forget(backend, 3);
    await forget(backend, 5);
    expect(await rows(backend)).toMatchObject([
      { status: "completed", assistant_message_id: null, ended_at: "2026-01-01T12:00:02.000Z", ended_position: 3 },
      { status: "failed", failure_code: null, ended_at: "2026-01-01T12:00:04.000Z", ended_position: 5 },
    ]);
  });

  test("a start leaves nothing of its turn, whether or not it had to wait", async () => {
    const backend = await after(...story);
    await forget(backend, 4);
    expect(await statuses(backend)).toEqual({ a: "completed" });
    await forget(backend, 1);
    expect(await statuses(backend)).toEqual({});
  });

  test("the wait of a turn that has started changes nothing", async () => {
    const backend = await after(...story);
    await forget(backend, 2);
    expect(await statuses(backend)).toEqual({ a: "completed", b: "failed" });
  });

  test("the wait of a turn that still waits takes it away until it starts", async () => {
    const backend = await after(turnStarted("a"), turnQueued("b"), turnQueued("c"));
    await forget(backend, 2);
    expect(await statuses(backend)).toEqual({ a: "running", c: "queued" });
    await record(backend.log, appendOf(write("t", "any", turnCompleted("x"), turnStarted("b"))));
    expect(await statuses(backend)).toEqual({ a: "completed", c: "queued", b: "running" });
  });

  test("a start takes away those of its thread that waited then, until they start", async () => {
    const facts = [turnStarted("a"), turnQueued("b"), turnQueued("c"), turnCompleted("x"), turnStarted("b")];
    const backend = await after(...facts, turnQueued("d"));
    await record(backend.log, appendOf(write("u", "any", turnStarted("e"), turnQueued("f"))));
    await forget(backend, 5);
    expect(await statuses(backend)).toEqual({ a: "completed", d: "queued", e: "running", f: "queued" });
    await record(backend.log, appendOf(write("t", "any", turnCompleted("y"), turnStarted("c"))));
    expect(await statuses(backend)).toMatchObject({ a: "completed", c: "running", d: "queued" });
  });

  test("a start takes them away as of then, too", async () => {
    const backend = await after(turnStarted("a"), turnQueued("b"), turnCompleted("x"), turnStarted("b"));
    await forget(backend, 4);
    const found: string[] = [];
    await asOf(backend.log, [turnsProjection], 4, async (query) => {
      const then = await query.selectFrom("turns").select("turn_id").execute();
      found.push(...then.map((row) => row.turn_id));
    });
    expect(found).toEqual(["a"]);
  });

  test("a start of a turn that is active leaves its end without a turn", async () => {
    const backend = await after(turnStarted("a"), turnCompleted("x"), turnStarted("b"), turnPaused);
    await forget(backend, 3);
    await record(backend.log, appendOf(write("t", "any", turnResumed, turnFailed("cut"), turnStarted("c"))));
    expect(await statuses(backend)).toEqual({ a: "completed", c: "running" });
  });

  test("pauses change nothing: that there was one is still known", async () => {
    const backend = await after(turnStarted("a"), turnPaused, turnResumed, turnPaused);
    await forget(backend, 2, 4);
    expect(await statuses(backend)).toEqual({ a: "paused" });
  });

  test("everything at once, before it was projected, leaves nothing", async () => {
    const log = bench.log();
    await record(log, appendOf(write("t", "any", ...story)));
    await forget({ log }, 1, 5);
    log.close();
    expect(await statuses(await bench.backend())).toEqual({});
  });
});
