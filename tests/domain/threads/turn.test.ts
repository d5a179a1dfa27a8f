import { describe, expect, test } from "@jest/globals";
import type { Fact, NewFact } from "../../../domain/shared/index.js";
import { evolveTurn, initialTurn } from "../../../domain/threads/index.js";
import { Identity, PolicyDecision } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { asRead, delta, titled } from "../../support/facts.js";
import { given } from "../../support/given.js";
import { turnCompleted, turnStarted } from "../../support/turn-facts.js";
import {
  asked,
  committed,
  failed,
  finished,
  noon,
  planned,
  proposed,
  repairAttempted,
  resumed,
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
    const asking = { callId: "call 1", provider: "somewhere", model: "some model", reservedTokens: 9_000 };
    expect(given(turn, asked(1)).state).toMatchObject({ asking, modelCalls: 1, attempts: 1, stepEndsAt: stepEnd });
    expect(given(turn, asked(1), finished(1)).state).toMatchObject({ asking: null, failures: 0, losses: 0 });
    expect(given(turn, asked(1), failed(1, "cut")).state).toMatchObject({ asking: null, failures: 1, losses: 0 });
  });

  test.each(["server_stopped", "broke_off"])(
    "that was lost (%s) is counted apart from those that failed, once, and its step has all its time again",
    (reason) => {
      const lost = { case: "modelCallFailed", value: { callId: "call 1", reason } } as const;
      const later = { losses: 1, stepEndsAt: stepEnd + 7 };
      expect(given(turn, asked(1), resumed(0, noon + 7)).state).toMatchObject({ ...later, failures: 0 });
      expect(given(turn, asked(1), resumed(0, noon + 7), lost).state).toMatchObject({
        ...later,
        asking: null,
        failures: 0,
      });
    },
  );

  test("is put off until it is asked again", () => {
    const history = [asked(1), failed(1, "cut"), retried(1, "cut", "primary", noon + 500)];
    expect(given(turn, ...history).state).toMatchObject({ notBefore: noon + 500, failures: 1 });
    expect(given(turn, ...history, asked(2)).state).toMatchObject({ notBefore: null, attempts: 2, failures: 1 });
  });

  test("of which nothing is known any more has no end of its step: that is not long past", () => {
    const state = [asRead(asked(1)), finished(1), erased("modelCallStarted")].reduce(evolveTurn, initialTurn);
    expect(state).toMatchObject({ asking: { callId: "", reservedTokens: 0 }, attempts: 2, stepEndsAt: null });
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
  const step = [asked(1), finished(1), ...planned(1, 1, "look_up", { what: "tea" }), ...proposed(1, 2, "a@b.example")];
  const calls = (...more: Parameters<typeof given>[1][]) => given(turn, ...step, ...more).state.steps.at(-1)!.calls;

  test("is what the model wants, and what policy says to it", () => {
    expect(calls()).toMatchObject([
      {
        tool: "look_up",
        args: { what: "tea" },
        decision: PolicyDecision.ALLOW_INTERNAL,
        reason: "read",
        actionId: null,
      },
      {
        tool: "mail_send",
        identity: Identity.USER,
        decision: PolicyDecision.REQUIRE_APPROVAL,
        actionId: "action/tool-call/turn-1/1/2",
        executionId: null,
        result: null,
      },
    ]);
  });

  test("that is proposed counts, over all steps", () => {
    expect(given(turn, ...step).state.proposals).toBe(1);
    const more = [used(1, 2), asked(2), finished(2), ...proposed(2, 1, "b"), ...proposed(2, 2, "c")];
    expect(given(turn, ...step, ...more).state.proposals).toBe(3);
  });

  test("that has read what others wrote taints its turn for good, and so does one of which that is not known", () => {
    const told = (untrusted: boolean): NewFact => {
      const { value } = used(1, 1) as Extract<NewFact, { case: "toolExecutionFinished" }>;
      return { case: "toolExecutionFinished", value: { ...value, untrusted } };
    };
    expect(given(turn, ...step, told(false)).state.isTainted).toBe(false);
    const tainted = given(
      turn,
      ...step,
      told(true),
      asked(2),
      finished(2),
      ...planned(2, 1, "notes_write"),
      used(2, 1),
    );
    expect(tainted.state.isTainted).toBe(true);
    expect(evolveTurn(given(turn, ...step).state, erased("toolExecutionFinished")).isTainted).toBe(true);
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
