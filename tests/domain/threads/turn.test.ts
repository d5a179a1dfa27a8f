import { describe, expect, test } from "@jest/globals";
import type { Fact } from "../../../domain/shared/index.js";
import { evolveTurn, initialTurn } from "../../../domain/threads/index.js";
import { PolicyDecision } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { delta, titled } from "../../support/facts.js";
import { given } from "../../support/given.js";
import { turnCompleted, turnStarted } from "../../support/turn-facts.js";
import {
  asked,
  committed,
  failed,
  finished,
  noon,
  planned,
  repairAttempted,
  retried,
  stepEnd,
  turn,
  used,
  using,
} from "../../support/turn-story.js";

const erased = (type: Fact["case"]) => ({ case: type, value: null }) as Fact;
const bad = { callId: "call 1", reason: "It is bad.", output: "bad" };

describe("a question", () => {
  test("is waited for until it is answered, or not", () => {
    const asking = { callId: "call 1", choice: "primary", reservedTokens: 9_000, stepEndsAt: stepEnd };
    expect(given(turn, asked(1)).state).toMatchObject({ asking, modelCalls: 1, attempts: 1, stepEndsAt: stepEnd });
    expect(given(turn, asked(1), finished(1)).state).toMatchObject({ asking: null, failures: 0, losses: 0 });
    expect(given(turn, asked(1), failed(1, "cut")).state).toMatchObject({ asking: null, failures: 1, losses: 0 });
  });

  test("that was lost is counted apart from those that failed", () => {
    const lost = { case: "modelCallFailed", value: { callId: "call 1", reason: "server_stopped" } } as const;
    expect(given(turn, asked(1), lost).state).toMatchObject({ asking: null, failures: 0, losses: 1 });
  });

  test("is put off until it is asked again", () => {
    const history = [asked(1), failed(1, "cut"), retried(1, "cut", "primary", noon + 500)];
    expect(given(turn, ...history).state).toMatchObject({ notBefore: noon + 500, failures: 1 });
    expect(given(turn, ...history, asked(2)).state).toMatchObject({ notBefore: null, attempts: 2, failures: 1 });
  });

  test("to the other model begins to count failures anew; another one to it does not", () => {
    const switched = [asked(1), failed(1, "cut"), retried(1, "cut", "fallback")];
    expect(given(turn, ...switched).state).toMatchObject({ choice: "fallback", failures: 0 });
    const again = [asked(2, "fallback"), failed(2, "cut"), retried(2, "cut", "fallback")];
    expect(given(turn, ...switched, ...again).state).toMatchObject({ choice: "fallback", failures: 1 });
  });

  test("to the other model stays with it, also when an answer makes no sense there", () => {
    const switched = [asked(1), failed(1, "cut"), retried(1, "cut", "fallback"), asked(2, "fallback"), finished(2)];
    expect(given(turn, ...switched, repairAttempted(1, "fallback", bad)).state.choice).toBe("fallback");
    expect(given(turn, ...switched, ...planned(1, 1, "look_up")).state.choice).toBe("fallback");
  });

  test("that was answered badly leaves what was said and what is wrong with it", () => {
    const history = [asked(1), failed(1, "cut"), asked(2), finished(2), repairAttempted(1, "primary", bad)];
    const repairs = [{ output: "bad", reason: "It is bad." }];
    expect(given(turn, ...history).state).toMatchObject({ choice: "primary", failures: 0, attempts: 2, repairs });
  });
});

describe("a step", () => {
  test("is a text, calls, or both", () => {
    const text = [asked(1), finished(1), committed(1, "One moment.", "call 1")];
    const calls = [...planned(1, 1, "look_up"), ...planned(1, 2, "mail_send")];
    const shape = (...facts: Parameters<typeof given>[1][]) =>
      given(turn, ...facts).state.steps.map((step) => [step.text, step.calls.map(({ tool }) => tool)]);
    expect(shape(...text)).toEqual([["One moment.", []]]);
    expect(shape(asked(1), finished(1), ...calls)).toEqual([["", ["look_up", "mail_send"]]]);
    expect(shape(...text, ...calls)).toEqual([["One moment.", ["look_up", "mail_send"]]]);
    expect(shape(...text, ...calls, asked(2), finished(2), ...planned(2, 1, "notes_write"))).toEqual([
      ["One moment.", ["look_up", "mail_send"]],
      ["", ["notes_write"]],
    ]);
  });

  test.each([
    ["a text", committed(1, "One moment.", "call 3")],
    ["a call", planned(1, 1, "look_up")[0]!],
  ])("that ends with %s leaves nothing of its troubles to the next", (_what, end) => {
    const troubled = [
      asked(1),
      failed(1, "cut"),
      retried(1, "cut", "primary", noon),
      asked(2),
      finished(2),
      repairAttempted(1, "primary", bad),
      asked(3),
      finished(3),
    ];
    const fresh = { attempts: 0, failures: 0, losses: 0, repairs: [], notBefore: null };
    expect(given(turn, ...troubled, end).state).toMatchObject({ ...fresh, modelCalls: 3 });
  });
});

describe("a call", () => {
  const step = [asked(1), finished(1), ...planned(1, 1, "look_up", { what: "tea" }), ...planned(1, 2, "mail_send")];
  const calls = (...more: Parameters<typeof given>[1][]) => given(turn, ...step, ...more).state.steps.at(-1)!.calls;

  test("is what the model wants, and what policy says to it", () => {
    expect(calls()).toMatchObject([
      { tool: "look_up", args: { what: "tea" }, decision: PolicyDecision.ALLOW_INTERNAL, reason: "read" },
      { tool: "mail_send", decision: PolicyDecision.REQUIRE_APPROVAL, executionId: null, result: null },
    ]);
  });

  test("is being made, and then there is a result, and the others know nothing of it", () => {
    const [begun, other] = calls(using(1, 1));
    expect(begun).toMatchObject({ executionId: "run 1/1", result: null });
    expect(other).toMatchObject({ executionId: null });
    const result = { text: "It rains.", isFailure: false, isUntrusted: false, origin: "" };
    expect(calls(using(1, 1), used(1, 1, "It rains."))).toMatchObject([{ result }, { result: null }]);
  });

  test("adds to what tools have told in the turn, over all its steps", () => {
    const told = [using(1, 1), used(1, 1, "abc"), asked(2), ...planned(2, 1, "look_up"), used(2, 1, "abcd")];
    expect(given(turn, ...step, ...told).state.toolTokens).toBe(1 + 2);
  });

  test("whose judgement was erased is not allowed", () => {
    const [call] = planned(1, 1, "look_up");
    const state = [call!, erased("policyDecisionMade")].reduce(evolveTurn, initialTurn);
    expect(state.steps[0]?.calls[0]?.decision).toBe(PolicyDecision.POLICY_DECISION_UNSPECIFIED);
  });
});

test("what is no news to a turn leaves it as it is", () => {
  const { state } = given(turn, asked(1));
  for (const fact of [turnStarted("turn-1"), delta("Good"), titled("Tea"), turnCompleted("message")]) {
    expect(evolveTurn(state, fact)).toBe(state);
  }
});
