import { describe, expect, test } from "@jest/globals";
import { toTimestamp, type NewFact } from "../../../domain/shared/index.js";
import { ActorKind } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import type { AuditRow } from "../../../read-models/audit/index.js";
import {
  approved,
  intended,
  notified,
  policyDecided,
  proposed,
  rejected,
  toolStarted,
} from "../../support/action-facts.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner, type Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { paired } from "../../support/devices.js";
import { said, threadDeleted } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const provenance = { ...fromOwner, turnId: "turn-1", jobId: "job-1" };

/** The read models after these facts in one stream of thread t, or of none. */
async function after(stream: string, threadId: string | null, ...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  await record(backend.log, appendOf({ ...write(stream, "any", ...facts), threadId, provenance }));
  return backend;
}

/** All entries, which a rebuild shows as well. */
async function entries(backend: Backend): Promise<AuditRow[]> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  return backend.store.query.selectFrom("audit_log").selectAll().orderBy("position").execute();
}

describe("an entry", () => {
  test("says what happened, where, when, to what and by whom", async () => {
    const backend = await after("action-a", "t", rejected("no", "b"));
    const [event] = backend.log.readStream("action-a", 0, 1);
    expect(await entries(backend)).toEqual([
      {
        entry_id: event!.eventId,
        event_type: "proposedActionStatusChanged",
        entity_id: "a",
        thread_id: "t",
        job_id: "job-1",
        action_id: "a",
        actor: "device:device-1",
        payload_json: '{"status":"REJECTED","reason_code":"owner","not_before":null,"superseded_by":"b"}',
        created_at: "2026-01-01T12:00:00.000Z",
        position: 1,
      },
    ]);
  });

  test.each([
    [ActorKind.OPERATOR, "operator"],
    [ActorKind.MODEL, "model:x"],
    [ActorKind.WORKER, "worker:x"],
    [ActorKind.UNSPECIFIED, "somebody:x"],
  ])("names an actor of kind %d %s", async (kind, actor) => {
    const backend = await bench.backend();
    const by = { ...fromOwner, actor: { kind, id: "x" } };
    await record(backend.log, appendOf({ ...write("t", "any", threadDeleted), provenance: by }));
    expect(await entries(backend)).toMatchObject([{ actor, job_id: null, thread_id: "t", entity_id: "t" }]);
  });

  test("is not made of what is said", async () => {
    expect(await entries(await after("t", "t", said("hello")))).toEqual([]);
  });
});

describe("erased", () => {
  const blank = { job_id: null, actor: "", payload_json: "{}" };

  test("an event about an action leaves that there was one", async () => {
    const backend = await after("action-a", "t", proposed("a"), approved, intended());
    const before = await entries(backend);
    await forget(backend, 1, 2);
    const [first, second, third, erasure] = await entries(backend);
    expect([first, second, third]).toEqual([{ ...before[0], ...blank }, { ...before[1], ...blank }, before[2]]);
    expect(erasure).toMatchObject({ event_type: "eventsErased", entity_id: "owner", thread_id: null, action_id: null });
    expect(erasure?.payload_json).toBe('{"reason":"forget","ranges":1,"events":2}');
  });

  test("another event leaves its thread, or the owner", async () => {
    const backend = await after("turn-1", "t", toolStarted("e"), policyDecided("a"));
    await record(backend.log, appendOf({ ...write("notification-n", "any", notified("n", "a")), threadId: null }));
    expect(await entries(backend)).toMatchObject([
      { entity_id: "turn-1", action_id: null },
      { entity_id: "turn-1", action_id: "a" },
      { entity_id: "n", action_id: "a" },
    ]);
    await forget(backend, 1, 3);
    const gone = { ...blank, action_id: null };
    expect((await entries(backend)).slice(0, 3)).toMatchObject([
      { ...gone, event_type: "toolExecutionStarted", entity_id: "t", thread_id: "t" },
      { ...gone, event_type: "policyDecisionMade", entity_id: "t", thread_id: "t" },
      { ...gone, event_type: "notificationQueued", entity_id: "owner", thread_id: null },
    ]);
  });

  test("events leave the entries of others as they are, and of those that cannot be erased", async () => {
    const remembered: NewFact = { case: "agentMemoryUpdated", value: { content: "tea" } };
    const backend = await after("devices", null, paired("d", "p"), remembered, paired("e", "q"));
    const before = await entries(backend);
    await forget(backend, 1, 3);
    expect((await entries(backend)).slice(0, 3)).toEqual([before[0], { ...before[1], ...blank }, before[2]]);
  });

  test("retention is known with its numbers", async () => {
    const value = { policy: "messages", erasedBefore: toTimestamp(noon), erasedEvents: 12n };
    const [entry] = await entries(await after("retention", null, { case: "retentionApplied", value }));
    const payload_json = '{"policy":"messages","erased_before":"2026-01-01T12:00:00.000Z","erased_events":12}';
    expect(entry).toMatchObject({ payload_json, entity_id: "owner" });
  });
});
