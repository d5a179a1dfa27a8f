import { describe, expect, test } from "@jest/globals";
import { accept, second, type NewFact } from "../../../domain/shared/index.js";
import {
  conclude,
  type Outcome,
  type Trouble,
  type Turn,
  type turnFailures,
  type Unanswered,
} from "../../../domain/threads/index.js";
import { given } from "../../support/given.js";
import {
  asked,
  failed,
  finished,
  noon,
  over,
  repairAttempted,
  requestOf,
  retried,
  stepEnd,
  trouble,
  turn,
  withFallback,
  withoutFallback,
} from "../../support/turn-story.js";

const request = requestOf("turn-1", { maxToolSteps: 7 });

function hear(state: Turn, heard: Outcome, rules = withFallback, at = noon) {
  return accept(...conclude(request, state, heard, rules, at));
}

/** Asked so often, without an answer each time. */
function failedTimes(times: number, choice: "primary" | "fallback" = "primary", first = 1): readonly NewFact[] {
  return Array.from({ length: times }, (_, index) => first + index).flatMap((time) => [
    asked(time, choice),
    failed(time, "unavailable"),
    retried(time, "unavailable", choice),
  ]);
}

type Code = keyof typeof turnFailures;

const passing: readonly (readonly [Trouble, Code])[] = [
  ["rate_limited", "MODEL_RATE_LIMITED"],
  ["unavailable", "MODEL_UNAVAILABLE"],
  ["timeout", "MODEL_TIMEOUT"],
  ["cut", "MODEL_UNAVAILABLE"],
  ["malformed", "FAILED_MODEL_OUTPUT"],
];
const lasting: readonly (readonly [Trouble, Code])[] = [
  ["payment_required", "MODEL_PAYMENT_REQUIRED"],
  ["rejected", "MODEL_REJECTED"],
];

const onFallback = [asked(1), failed(1, "rejected"), retried(1, "rejected", "fallback")];

describe.each(passing)("a trouble that may pass (%s)", (what, code) => {
  test("is waited for, longer each time, and somewhat differently by each who waits", () => {
    given(turn, asked(1))
      .when(hear, trouble(what))
      .thenRecords(failed(1, what), retried(1, what, "primary", noon + 500));
    given(turn, asked(1))
      .when(hear, trouble(what, { jitter: 0 }))
      .thenRecords(failed(1, what), retried(1, what, "primary", noon + 250));
    given(turn, asked(1))
      .when(hear, trouble(what, { jitter: 1 / 3 }))
      .thenRecords(failed(1, what), retried(1, what, "primary", noon + 334)); // Whole milliseconds.
    given(turn, ...failedTimes(1), asked(2))
      .when(hear, trouble(what))
      .thenRecords(failed(2, what), retried(2, what, "primary", noon + 1_000));
  });

  test("is left to the other model at the third time", () => {
    given(turn, ...failedTimes(2), asked(3))
      .when(hear, trouble(what))
      .thenRecords(failed(3, what), retried(3, what, "fallback"));
  });

  test("ends the turn at the third time, if there is no other, or that was it", () => {
    given(turn, ...failedTimes(2), asked(3))
      .when(hear, trouble(what), withoutFallback)
      .thenRecords(failed(3, what), over(code, true));
    given(turn, ...onFallback, ...failedTimes(2, "fallback", 2), asked(4, "fallback"))
      .when(hear, trouble(what))
      .thenRecords(failed(4, what), over(code, true));
  });

  test("of the other model is waited for as often, and asked about there", () => {
    given(turn, ...onFallback, asked(2, "fallback"))
      .when(hear, trouble(what))
      .thenRecords(failed(2, what), retried(2, what, "fallback", noon + 500));
    given(turn, ...onFallback, ...failedTimes(1, "fallback", 2), asked(3, "fallback"))
      .when(hear, trouble(what))
      .thenRecords(failed(3, what), retried(3, what, "fallback", noon + 1_000));
  });

  test("is counted anew once an answer has come, even one that made no sense", () => {
    const repair = repairAttempted(1, "primary", { callId: "call 3", reason: "bad", output: "bad" });
    given(turn, ...failedTimes(2), asked(3), finished(3), repair, asked(4))
      .when(hear, trouble(what))
      .thenRecords(failed(4, what), retried(4, what, "primary", noon + 500));
  });

  test("is waited for as long as the provider wants, up to half a minute", () => {
    for (const retryAfterMillis of [0, 1, 20 * second, 30 * second]) {
      given(turn, asked(1))
        .when(hear, trouble(what, { retryAfterMillis }))
        .thenRecords(failed(1, what), retried(1, what, "primary", noon + retryAfterMillis));
    }
  });

  test("is not waited for if the provider wants more; then the other is asked, or it is said when to come again", () => {
    const later = trouble(what, { retryAfterMillis: 30 * second + 1 });
    given(turn, asked(1))
      .when(hear, later)
      .thenRecords(failed(1, what), retried(1, what, "fallback"));
    given(turn, asked(1))
      .when(hear, later, withoutFallback)
      .thenRecords(failed(1, what), over(code, true, noon + 30 * second + 1));
    given(turn, ...onFallback, asked(2, "fallback"))
      .when(hear, later)
      .thenRecords(failed(2, what), over(code, true, noon + 30 * second + 1));
  });

  test("is not waited for beyond the end of the step", () => {
    const wait = trouble(what, { retryAfterMillis: 20 * second });
    given(turn, asked(1))
      .when(hear, wait, withFallback, stepEnd - 20 * second - 1)
      .thenRecords(failed(1, what), retried(1, what, "primary", stepEnd - 1));
    given(turn, asked(1))
      .when(hear, wait, withFallback, stepEnd - 20 * second)
      .thenRecords(failed(1, what), retried(1, what, "fallback"));
    given(turn, asked(1))
      .when(hear, wait, withoutFallback, stepEnd - 20 * second)
      .thenRecords(failed(1, what), over(code, true, stepEnd));
  });
});

describe.each(lasting)("a trouble that does not pass (%s)", (what, code) => {
  test("is left to the other model at once", () => {
    given(turn, asked(1))
      .when(hear, trouble(what, { retryAfterMillis: 5 }))
      .thenRecords(failed(1, what), retried(1, what, "fallback"));
  });

  test("ends the turn, if there is no other, or that was it", () => {
    given(turn, asked(1)).when(hear, trouble(what), withoutFallback).thenRecords(failed(1, what), over(code, false));
    given(turn, ...onFallback, asked(2, "fallback"))
      .when(hear, trouble(what))
      .thenRecords(failed(2, what), over(code, false));
  });
});

test.each([
  ["there is another", withFallback],
  ["there is none", withoutFallback],
])("a key that the provider does not know ends the turn: no other model is asked with it, if %s", (_what, rules) => {
  given(turn, asked(1))
    .when(hear, trouble("unauthorized"), rules)
    .thenRecords(failed(1, "unauthorized"), over("MODEL_UNAUTHORIZED", false));
});

describe("when the step's time is over, nobody is asked any more:", () => {
  test.each(passing)("what may pass (%s) was not over in time", (what) => {
    for (const at of [stepEnd, stepEnd + second]) {
      given(turn, asked(1))
        .when(hear, trouble(what), withFallback, at)
        .thenRecords(failed(1, what), over("TURN_STEP_TIMEOUT", true));
      given(turn, asked(1))
        .when(hear, trouble(what, { retryAfterMillis: 5 }), withFallback, at)
        .thenRecords(failed(1, what), over("TURN_STEP_TIMEOUT", true, at + 5));
    }
  });

  test.each([...lasting, ["unauthorized", "MODEL_UNAUTHORIZED"] as const])(
    "what does not pass (%s) is what it is (%s), and coming again is no use",
    (what, code) => {
      for (const at of [stepEnd, stepEnd + second]) {
        given(turn, asked(1))
          .when(hear, trouble(what, { retryAfterMillis: 5 }), withFallback, at)
          .thenRecords(failed(1, what), over(code, false));
      }
    },
  );
});

test("a step of which nobody knows when it ends is not over", () => {
  const state = { ...given(turn, asked(1)).state, stepEndsAt: null };
  for (const [rules, next] of [
    [withFallback, "rejected"],
    [withoutFallback, "cut"],
  ] as const) {
    const [, then] = conclude(request, state, trouble(next), rules, stepEnd + second);
    expect(then?.case).toBe("modelCallRetried");
  }
});

test("who interrupts says what comes next: the model is not asked again for that", () => {
  for (const rules of [withFallback, withoutFallback]) {
    given(turn, ...failedTimes(2), asked(3))
      .when(hear, trouble("interrupted"), rules)
      .thenRecords(failed(3, "interrupted"));
  }
});

test("what a failed call has cost is kept with what the provider said, well-formed; the end says nothing of that", () => {
  const state = given(turn, asked(1)).state;
  const unwell: Partial<Unanswered> = { chargedTokens: 123, message: "half a crab: \ud83e" };
  const [call, end] = conclude(request, state, trouble("unauthorized", unwell), withFallback, noon);
  expect(call?.value).toMatchObject({ chargedTokens: 123n, message: "half a crab: \ufffd" });
  expect(end).toEqual(over("MODEL_UNAUTHORIZED", false));
});
