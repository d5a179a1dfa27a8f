import { fromBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "@jest/globals";
import { ContentTrust, EventSource } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind, ThreadEventSchema } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { replay, type StoredEvent } from "../../../infra/event-log/index.js";
import { appendOf, noon, record, recordMany, write } from "../../support/appends.js";
import { answered, delta, said, threadCreated } from "../../support/facts.js";
import { fromOwner } from "../../support/backend.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

describe("the log counts", () => {
  test("positions from 1, whatever the stream or thread", async () => {
    const log = bench.log();
    for (const stream of ["a", "b", "a", "c"]) await record(log, appendOf(write(stream, "any", delta("x"))));
    expect(log.readAll(0, 10).map(({ position }) => position)).toEqual([1, 2, 3, 4]);
  });

  test("versions from 1 in each stream, and sequences from 1 in each thread", async () => {
    const log = bench.log();
    const places = [
      ["a", "t"],
      ["b", "t"],
      ["a", "u"],
      ["a", "t"],
    ] as const;
    for (const [stream, threadId] of places) {
      await record(log, appendOf({ ...write(stream, "any", delta("x")), threadId }));
    }
    expect(log.readAll(0, 10).map(({ version, sequence }) => [version, sequence])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [3, 3],
    ]);
  });

  test("no sequence where there is no thread", async () => {
    const log = bench.log();
    const paired = { case: "devicePaired", value: { deviceId: "device-1" } } as const;
    await record(log, appendOf(write("thread", "any", threadCreated)));
    const [event] = await record(log, appendOf({ ...write("device-1", "no_stream", paired), threadId: null }));
    expect(event).toMatchObject({ position: 2, stream: "device-1", version: 1, threadId: null, sequence: null });
    expect(received(log.readAll(1, 1)[0]!)).toMatchObject({ threadId: "", sequence: 0n, position: 2n });
  });

  test("on where it stopped after it was opened anew", async () => {
    const first = bench.log();
    await recordMany(first, "a", [threadCreated, said("one")]);
    first.close();
    const [event] = await record(bench.log(), appendOf(write("a", 2, said("two"))));
    expect(event).toMatchObject({ position: 3, version: 3, sequence: 3 });
  });
});

describe("what is stored", () => {
  test("is what a client receives", async () => {
    const log = bench.log();
    await record(log, appendOf(write("other", "any", threadCreated)));
    const occurredAt = noon + 123;
    const provenance = {
      source: EventSource.MODEL_UNTRUSTED,
      contentTrust: ContentTrust.TRUSTED_VALIDATED,
      actor: { kind: ActorKind.DEVICE, id: "device-7" },
      turnId: "turn-1",
      jobId: "job-1",
      causationId: "cause-1",
      correlationId: "correlation-1",
    };
    const fact = said("hello 🦀", "message-1");
    const [event] = await record(log, {
      occurredAt,
      writes: [{ stream: "message-1", expected: "any", threadId: "thread-1", facts: [fact], provenance }],
    });
    const row = log.readAll(1, 1)[0]!;
    expect(row).toMatchObject({ position: 2, stream: "message-1", version: 1, thread_id: "thread-1", sequence: 1 });
    expect(row).toMatchObject({ type: "messageCommitted", occurred_at: new Date(occurredAt).toISOString() });
    const client = received(row);
    expect(client).toMatchObject({
      eventId: row.event_id,
      position: 2n,
      stream: "message-1",
      version: 1n,
      threadId: "thread-1",
      sequence: 1n,
      source: provenance.source,
      contentTrust: provenance.contentTrust,
      actor: provenance.actor,
      turnId: "turn-1",
      jobId: "job-1",
      causationId: "cause-1",
      correlationId: "correlation-1",
      payload: { case: "messageCommitted", value: { messageId: "message-1", text: "hello 🦀" } },
    });
    expect(timestampMs(client.occurredAt!)).toBe(occurredAt);
    // And the append answers with the same.
    expect(event!.envelope).toEqual(client);
    expect(log.readStream("message-1", 0, 1)).toEqual([event]);
  });

  test.each([
    ["a millisecond before the epoch", -1, "1969-12-31T23:59:59.999Z"],
    ["on the second", noon, "2026-01-01T12:00:00.000Z"],
    ["at the end of a second", noon + 999, "2026-01-01T12:00:00.999Z"],
  ])("has the same time in the row and in the event: %s", async (_what, occurredAt, text) => {
    const log = bench.log();
    await record(log, { ...appendOf(write("a", "any", delta("x"))), occurredAt });
    const row = log.readAll(0, 1)[0]!;
    expect(row.occurred_at).toBe(text);
    expect(timestampMs(received(row).occurredAt!)).toBe(occurredAt);
  });

  test("holds every event of an append of many", async () => {
    const log = bench.log();
    const facts = Array.from({ length: 1_000 }, (_, n) => answered(`text ${n}`));
    const events = await record(log, appendOf({ ...write("a", "no_stream", ...facts), provenance: fromOwner }));
    expect(events).toHaveLength(1_000);
    const rows = [...replay(log, { afterPosition: 0 })].flat();
    expect(rows.map((row) => log.decode(row))).toEqual(events);
  });
});

function received(row: StoredEvent) {
  return fromBinary(ThreadEventSchema, row.event!);
}
