import { create, toBinary } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { eventTypes } from "../../../infra/event-log/index.js";
import { glanceAt } from "../../../infra/rpc/glance.js";
import { ThreadEventSchema, type ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";

type Payload = ThreadEvent["payload"];

const anyEvent = fc.record({
  eventId: fc.uuid(),
  threadId: fc.string(),
  jobId: fc.string(),
  turnId: fc.string(),
  sequence: fc.bigInt({ min: 0n, max: 2n ** 53n }),
  stream: fc.string(),
  correlationId: fc.string(),
  type: fc.constantFrom(...eventTypes),
});

describe("a glance at a stored event", () => {
  test("sees of every event what decoding it would", () => {
    fc.assert(
      fc.property(anyEvent, ({ type, ...fields }) => {
        const event = create(ThreadEventSchema, { ...fields, payload: { case: type, value: {} } as Payload });
        expect(glanceAt(toBinary(ThreadEventSchema, event))).toEqual({ turnId: fields.turnId, type });
      }),
    );
  });

  test("sees no type where there is none that it knows", () => {
    const event = create(ThreadEventSchema, { turnId: "t" });
    event.$unknown = [{ no: 5_000, wireType: WireType.LengthDelimited, data: new Uint8Array([0]) }];
    expect(glanceAt(toBinary(ThreadEventSchema, event))).toEqual({ turnId: "t", type: "" });
  });
});
