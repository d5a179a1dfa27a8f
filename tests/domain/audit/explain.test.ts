import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { explain } from "../../../domain/audit/index.js";
import type { NewFact, RecordedEvent } from "../../../domain/shared/index.js";
import { ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ThreadEventSchema } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import * as facts from "../../support/action-facts.js";
import { said } from "../../support/facts.js";

/** Events in the order of the log, each with what caused it. */
function log(...events: (readonly [stream: string, fact: NewFact, causationId?: string])[]): RecordedEvent[] {
  return events.map(([stream, fact, causationId = ""], index) => {
    const envelope = create(ThreadEventSchema, { payload: fact, causationId, actor: { id: "phone" } });
    const position = index + 1;
    return {
      ...{ position, eventId: `event-${position}`, stream, version: 1, threadId: "t", sequence: position },
      ...{ occurredAt: "2026-01-01T12:00:00.000Z", type: fact.case, envelope, payload: envelope.payload.value },
    } as RecordedEvent;
  });
}

const asked: NewFact = { case: "modelCallStarted", value: { callId: "m", model: "big", provider: "them", step: 1 } };
const whole = log(
  ["t", said("Write to Ann.", "message")],
  ["t", said("Something else.", "other message")],
  ["turn", asked, "message"],
  ["turn", facts.policyDecided("a"), "m"],
  ["turn", facts.policyDecided("b"), "m"],
  ["action-a", facts.proposed("a"), "m"],
  ["action-b", facts.proposed("b"), "m"],
  ["action-a", facts.approved, "a"],
  ["action-b", facts.rejected("no"), "b"],
  ["action-a", facts.intended(), "a"],
  ["action-a", facts.done, "a"],
  ["action-a", facts.executed, "a"],
);

test("an action is explained by what led to it and what became of it, and by nothing else", () => {
  expect(explain("a", whole).map(({ event, text }) => `${event.position} ${text}`)).toEqual([
    '1 The owner said: "Write to Ann."',
    "3 The model big of them was asked, for step 1.",
    "4 Policy, rule external.approved: REQUIRE_APPROVAL (requires_approval).",
    "6 Proposed, revision 1: Send a",
    "8 APPROVED by phone.",
    "10 Attempt 1 was begun.",
    "11 Attempt 1, by execution: DONE.",
    "12 EXECUTED by phone.",
  ]);
  expect(explain("b", whole).at(-1)?.text).toBe("REJECTED by phone (no).");
});

describe("an action that was revised", () => {
  const [first, second, third] = ["a", "b", "c"].map((id, n, ids) =>
    facts.proposed(id, { revision: n + 1, supersedesActionId: ids[n - 1] ?? "", toolCallId: "call" }),
  );
  const revised = log(
    ["action-a", first!],
    ["action-a", facts.rejected("superseded", "b"), "a"],
    ["action-b", second!, "a"],
    ["action-b", facts.rejected("superseded", "c"), "b"],
    ["action-c", third!, "b"],
    ["action-c", facts.approved, "c"],
    ["action-c", facts.intended(), "c"],
    ["action-c", facts.done, "c"],
    ["action-c", facts.executed, "c"],
    ["action-z", facts.proposed("z")],
  );

  test.each(["a", "b"])("is told with what took its place, and what was decided of that (%s)", (actionId) => {
    expect(explain(actionId, revised).map(({ event, text }) => `${event.position} ${text}`)).toEqual([
      "1 Proposed, revision 1: Send a",
      "2 REJECTED by phone (superseded). b took its place.",
      "3 Proposed, revision 2: Send b",
      "4 REJECTED by phone (superseded). c took its place.",
      "5 Proposed, revision 3: Send c",
      "6 APPROVED by phone.",
      "9 EXECUTED by phone.",
    ]);
  });

  test("is told with all that became of its last revision, if that is asked about", () => {
    expect(explain("c", revised).map(({ event }) => event.position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("in a circle is told once", () => {
    const circle = log(
      ["action-a", facts.proposed("a", { supersedesActionId: "b" })],
      ["action-b", facts.proposed("b", { supersedesActionId: "a" })],
    );
    expect(explain("a", circle)).toHaveLength(2);
  });
});

test("what a provider says is not told at any length", () => {
  const failed = facts.finished(ExecutionOutcome.FAILED, { reason: "x".repeat(1_000_000) });
  const steps = explain("a", log(["action-a", facts.proposed("a")], ["action-a", failed]));
  expect(steps.at(-1)?.text).toMatch(/^Attempt 1, by execution: FAILED \(x+…\)\.$/);
  expect(steps.at(-1)?.text.length).toBeLessThan(250);
});

test("however the events are handed over, they are told in the order of the log", () => {
  expect(explain("a", whole.toReversed())).toEqual(explain("a", whole));
});

test("nothing is said of an action that is not there", () => {
  expect(explain("nobody", whole)).toEqual([]);
});

test("what was erased is told as that, and the chain ends there", () => {
  const erased = whole.map((event) => (event.type === "proposedActionCreated" ? blank(event) : event));
  const texts = explain("a", erased).map(({ text }) => text);
  expect(texts).toContain("proposedActionCreated: what it said is erased.");
  expect(texts).toContain("APPROVED by phone.");
});

test("causes that go round in a circle are followed once", () => {
  const circle = log(["turn", { ...asked }, "a"], ["action-a", facts.proposed("a"), "m"]);
  expect(explain("a", circle)).toHaveLength(2);
});

test("what was said is quoted on one line, and not at any length", () => {
  const [first] = explain(
    "a",
    log(["t", said(`x\ny${"z".repeat(1_000)}`, "message")], ["action-a", facts.proposed("a"), "message"]),
  );
  expect(first?.text).toMatch(/^The owner said: "x\\nyz+…"$/);
  expect(first?.text.length).toBeLessThan(250);
});

function blank(event: RecordedEvent): RecordedEvent {
  return { ...event, envelope: null, payload: null };
}
