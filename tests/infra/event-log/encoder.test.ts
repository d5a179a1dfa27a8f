import { create, toBinary, type Message } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { encode } from "../../../infra/event-log/encoder.js";
import { eventTypes } from "../../../infra/event-log/index.js";
import { ThreadEventSchema, type ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { MessageCommittedSchema } from "../../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { appendOf, noon, write } from "../../support/appends.js";
import { said } from "../../support/facts.js";
import { anyMessage } from "../../support/any-message.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

const text = fc.string({ unit: "binary", maxLength: 300 });
const long = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) });
const envelope = fc.record({
  eventId: text,
  threadId: text,
  jobId: text,
  turnId: text,
  sequence: long,
  occurredAt: fc.record({ seconds: fc.bigInt({ min: 0n, max: 253_402_300_799n }), nanos: fc.nat(999_999_999) }),
  source: fc.constantFrom(0, 1, 4),
  contentTrust: fc.constantFrom(0, 1, 3),
  position: long,
  stream: text,
  version: long,
  causationId: text,
  correlationId: text,
  actor: fc.record({ kind: fc.constantFrom(0, 1, 4), id: text }),
  payload: fc.constantFrom("", "x", "é".repeat(9_000)).map((said_) => said(said_, "m")),
});

function expectSame(event: ThreadEvent): void {
  const prefixBytes = 16;
  expect(encode(event, prefixBytes).subarray(prefixBytes).equals(toBinary(ThreadEventSchema, event))).toBe(true);
}

describe("our encoder writes, byte for byte, what the library writes:", () => {
  test("any envelope", () => {
    fc.assert(
      fc.property(envelope, (init) => {
        expectSame(create(ThreadEventSchema, init));
      }),
    );
  });

  test("an envelope of which little is known", () => {
    expectSame(create(ThreadEventSchema, { payload: said("x") }));
  });

  test.each([...eventTypes])("%s", (type) => {
    const { message: schema } = ThreadEventSchema.fields.find(({ localName }) => localName === type)!;
    const expectSameOf = (value: Message) => {
      expectSame(create(ThreadEventSchema, { eventId: "e", payload: { case: type, value } as ThreadEvent["payload"] }));
    };
    expectSameOf(create(schema!));
    fc.assert(fc.property(anyMessage(schema!), expectSameOf), { numRuns: 50 });
  });

  test("what another version has said", () => {
    const value = create(MessageCommittedSchema, { text: "x" });
    value.$unknown = [{ no: 900, wireType: WireType.Varint, data: new Uint8Array([1]) }];
    expectSame(create(ThreadEventSchema, { payload: { case: "messageCommitted", value } }));
  });
});

describe("an event that cannot be written exactly is refused:", () => {
  test.each([
    ["half a millisecond", noon + 0.5],
    ["a thousandth of a millisecond", noon + 0.001],
    ["a time beyond all dates", 9e15],
    ["no time", NaN],
  ])("%s", async (_what, occurredAt) => {
    const log = bench.log();
    await expect(log.append({ ...appendOf(write("s", "any", said("x"))), occurredAt })).rejects.toThrow();
    expect(log.head().position).toBe(0);
  });
});
