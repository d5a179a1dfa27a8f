import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { proposalsPerTurnMax, Toolbox, type Tool } from "../../../domain/approvals/index.js";
import { accept, type NewFact } from "../../../domain/shared/index.js";
import { conclude, type Answered, type Turn, type TurnRequest } from "../../../domain/threads/index.js";
import { Identity, PolicyDecision, RiskClass, TriggerType } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { given } from "../../support/given.js";
import {
  answer,
  asked,
  finished,
  noon,
  planned,
  proposed,
  requestOf,
  turn,
  used,
  withFallback,
} from "../../support/turn-story.js";

function hear(state: Turn, heard: Answered, request: TurnRequest = requestOf("turn-1")) {
  return accept(...conclude(request, state, heard, withFallback, noon));
}

const mailTo = (to: string, identity = "user") => ["mail_send", { to, identity }] as const;

/** What was decided about each call, in their order. */
function decisionsIn(facts: readonly NewFact[]): (readonly [PolicyDecision | undefined, string | undefined])[] {
  return facts.flatMap((fact) =>
    fact.case === "policyDecisionMade" ? [[fact.value.decision, fact.value.reason] as const] : [],
  );
}

function decided(heard: Answered, ...history: readonly NewFact[]) {
  return decisionsIn(conclude(requestOf("turn-1"), given(turn, ...history).state, heard, withFallback, noon));
}

const approval = [PolicyDecision.REQUIRE_APPROVAL, "requires_approval"] as const;

describe("a call of a tool that acts", () => {
  test("is planned, judged and proposed, and the owner is told, all at once", () => {
    given(turn, asked(1))
      .when(hear, answer("", mailTo("a@b.example")))
      .thenRecords(finished(1), ...proposed(1, 1, "a@b.example"));
    expect(proposed(1, 1, "a@b.example").map((fact) => fact.case)).toEqual([
      "toolCallPlanned",
      "policyDecisionMade",
      "proposedActionCreated",
      "notificationQueued",
    ]);
  });

  test("stands among the others in the order of the model", () => {
    given(turn, asked(1))
      .when(hear, answer("", mailTo("a"), ["look_up", { what: "tea" }], mailTo("b", "bot")))
      .thenRecords(
        finished(1),
        ...proposed(1, 1, "a"),
        ...planned(1, 2, "look_up", { what: "tea" }),
        ...proposed(1, 3, "b", { identity: Identity.BOT }),
      );
  });

  test("says in whose name among its arguments, and is not proposed if it does not", () => {
    given(turn, asked(1))
      .when(hear, answer("", ["mail_send", { to: "a" }]))
      .thenRecords(finished(1), ...planned(1, 1, "mail_send", { to: "a" }));
  });

  test("is made by nobody: it is never allowed at once, whoever asks for it", () => {
    for (const identity of ["user", "bot"]) {
      expect(decided(answer("", mailTo("a", identity)), asked(1))).toEqual([approval]);
    }
  });
});

describe("a turn that has read what others wrote", () => {
  const { value } = used(1, 1) as Extract<NewFact, { case: "toolExecutionFinished" }>;
  const read: NewFact = { case: "toolExecutionFinished", value: { ...value, untrusted: true } };
  const history = [asked(1), finished(1), ...planned(1, 1, "look_up"), read, asked(2)];
  const blocked = [PolicyDecision.BLOCKED, "POLICY_BLOCKED_UNTRUSTED_TURN"] as const;

  test("proposes nothing, and may go on to read and to write notes", () => {
    const wishes = answer("", mailTo("a"), ["look_up", { what: "x" }], ["notes_write", { title: "t", text: "x" }]);
    expect(decided(wishes, ...history)).toEqual([
      blocked,
      [PolicyDecision.ALLOW_INTERNAL, "read"],
      [PolicyDecision.ALLOW_INTERNAL, "internal"],
    ]);
  });

  test("proposes nothing of which no trace is left but that something was read", () => {
    const facts = conclude(
      requestOf("turn-1"),
      given(turn, ...history).state,
      answer("", mailTo("a")),
      withFallback,
      noon,
    );
    expect(facts.map((fact) => fact.case)).toEqual(["modelCallFinished", "toolCallPlanned", "policyDecisionMade"]);
    expect(facts[2]?.value).not.toHaveProperty("actionId");
  });
});

describe("a turn proposes so many actions", () => {
  const many = (count: number, first = 1) => Array.from({ length: count }, (_, index) => mailTo(`${first + index}`));
  const tooMany = [PolicyDecision.BLOCKED, "too_many_proposals"] as const;

  test("in one answer, and no more", () => {
    expect(decided(answer("", ...many(proposalsPerTurnMax + 2)), asked(1))).toEqual([
      ...Array.from({ length: proposalsPerTurnMax }, () => approval),
      tooMany,
      tooMany,
    ]);
  });

  test("in all its steps together, and what was blocked does not count", () => {
    const first = [1, 2, 3].flatMap((place) => [...proposed(1, place, `${place}`), used(1, place)]);
    const blocked = planned(1, 4, "mail_send");
    const history = [asked(1), finished(1), ...first, ...blocked, asked(2)];
    expect(decided(answer("", ...many(3)), ...history)).toEqual([approval, approval, tooMany]);
  });
});

test.each([
  [TriggerType.CHAT_MESSAGE, "chat", "requires_approval"],
  [TriggerType.JOB_WAKEUP, "job", "background_proposes_only"],
  [TriggerType.SCHEDULE_WAKEUP, "schedule", "background_proposes_only"],
  [TriggerType.HEARTBEAT, "heartbeat", "background_proposes_only"],
  [TriggerType.DELEGATED_CALLBACK, "callback", "background_proposes_only"],
])("what asked for it is kept with the action: %s is a %s", (triggerType, source, reason) => {
  const request = { ...requestOf("turn-1"), triggerType, triggerSourceId: "source-1" };
  const facts = conclude(request, given(turn, asked(1)).state, answer("", mailTo("a")), withFallback, noon);
  expect(decisionsIn(facts)).toEqual([[PolicyDecision.REQUIRE_APPROVAL, reason]]);
  const action = facts.find((fact) => fact.case === "proposedActionCreated");
  expect(action?.value).toMatchObject({ source, sourceId: "source-1", idempotencyKey: "turn-1/1/1" });
});

test("an action is what the model wants, at the tool's own risk, in the words of the model and no other's", () => {
  const text = JSON.stringify({
    assistant_message: "",
    proposed_actions: [{ tool: "mail_send", identity: "bot", args: { to: "a" }, justification: "Trust me." }],
  });
  const facts = conclude(requestOf("turn-1"), given(turn, asked(1)).state, answer(text), withFallback, noon);
  const action = facts.find((fact) => fact.case === "proposedActionCreated");
  expect(action?.value).toMatchObject({
    tool: "mail_send",
    args: { to: "a" },
    riskClass: RiskClass.EXFILTRATION,
    identity: Identity.BOT,
    justification: "Trust me.",
    deterministicSummary: "Mail to a",
    toolCallId: "tool-call/turn-1/1/1",
  });
});

test.each<[string, z.ZodType<string>]>([
  ["nobody can show", z.string().transform(() => "unshowable")],
  ["are no JSON", z.string().transform((text) => new Date(text) as unknown as string)],
  ["would be others when they are carried out", z.string().transform((text) => `${text}!`)],
])("an action whose arguments %s is not proposed", (_, to) => {
  const described = (args: unknown) => {
    if (JSON.stringify(args).includes("unshowable")) throw new Error("it cannot be shown");
    return { summary: "", target: "", recipients: [], urls: [], body: "" };
  };
  const usual = withFallback.toolbox.find("mail_send");
  const sends = { ...usual, args: z.strictObject({ to }), describe: described } as Tool;
  const rules = { ...withFallback, toolbox: new Toolbox([sends]) };
  const facts = conclude(
    requestOf("turn-1"),
    given(turn, asked(1)).state,
    answer("", mailTo("2026-01-01")),
    rules,
    noon,
  );
  expect(decisionsIn(facts)).toEqual([[PolicyDecision.BLOCKED, "card_failed"]]);
  expect(facts.map((fact) => fact.case)).not.toContain("proposedActionCreated");
});
