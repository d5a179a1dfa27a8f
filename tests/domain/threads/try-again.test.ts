import { describe, expect, test } from "@jest/globals";
import { accept, second, toTimestamp, type NewFact } from "../../../domain/shared/index.js";
import { conclude, type Outcome, type Trouble, type Turn, type Unanswered } from "../../../domain/threads/index.js";
import { given } from "../../support/given.js";
import {
  asked,
  failed,
  finished,
  noon,
  planned,
  repairAttempted,
  requestOf,
  retried,
  stepEnd,
  trouble,
  turn,
  using,
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

const passing: readonly (readonly [Trouble, string])[] = [
  ["rate_limited", "MODEL_RATE_LIMITED"],
  ["unavailable", "MODEL_UNAVAILABLE"],
  ["timeout", "MODEL_TIMEOUT"],
  ["cut", "MODEL_UNAVAILABLE"],
  ["malformed", "FAILED_MODEL_OUTPUT"],
];
const lasting: readonly (readonly [Trouble, string])[] = [
  ["payment_required", "MODEL_PAYMENT_REQUIRED"],
  ["rejected", "MODEL_REJECTED"],
];

function turnFailed(code: string, what: Trouble, retryable: boolean, retryAt: number | null = null): NewFact {
  const at = retryAt === null ? {} : { retryAt: toTimestamp(retryAt) };
  return { case: "turnFailed", value: { code, message: `because it is ${what}`, retryable, ...at } };
}

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
      .thenRecords(failed(3, what), turnFailed(code, what, true));
    given(turn, ...onFallback, ...failedTimes(2, "fallback", 2), asked(4, "fallback"))
      .when(hear, trouble(what))
      .thenRecords(failed(4, what), turnFailed(code, what, true));
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
      .thenRecords(failed(1, what), turnFailed(code, what, true, noon + 30 * second + 1));
    given(turn, ...onFallback, asked(2, "fallback"))
      .when(hear, later)
      .thenRecords(failed(2, what), turnFailed(code, what, true, noon + 30 * second + 1));
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
      .thenRecords(failed(1, what), turnFailed(code, what, true, stepEnd));
  });
});

describe.each(lasting)("a trouble that does not pass (%s)", (what, code) => {
  test("is left to the other model at once", () => {
    given(turn, asked(1))
      .when(hear, trouble(what, { retryAfterMillis: 5 }))
      .thenRecords(failed(1, what), retried(1, what, "fallback"));
  });

  test("ends the turn, if there is no other, or that was it", () => {
    given(turn, asked(1))
      .when(hear, trouble(what), withoutFallback)
      .thenRecords(failed(1, what), turnFailed(code, what, false));
    given(turn, ...onFallback, asked(2, "fallback"))
      .when(hear, trouble(what))
      .thenRecords(failed(2, what), turnFailed(code, what, false));
  });
});

test.each([
  ["there is another", withFallback],
  ["there is none", withoutFallback],
])("a key that the provider does not know ends the turn: no other model is asked with it, if %s", (_what, rules) => {
  given(turn, asked(1))
    .when(hear, trouble("unauthorized"), rules)
    .thenRecords(failed(1, "unauthorized"), turnFailed("MODEL_UNAUTHORIZED", "unauthorized", false));
});

test.each([...passing, ...lasting])("when the step's time is over, nobody is asked any more: %s", (what) => {
  const isPassing = passing.some(([one]) => one === what);
  for (const at of [stepEnd, stepEnd + second]) {
    given(turn, asked(1))
      .when(hear, trouble(what), withFallback, at)
      .thenRecords(failed(1, what), turnFailed("TURN_STEP_TIMEOUT", what, isPassing));
  }
});

test("who interrupts says what comes next: the model is not asked again for that", () => {
  for (const rules of [withFallback, withoutFallback]) {
    given(turn, ...failedTimes(2), asked(3))
      .when(hear, trouble("interrupted"), rules)
      .thenRecords(failed(3, "interrupted"));
  }
});

test("what a failed call has cost is kept, and its message is well-formed", () => {
  const state = given(turn, asked(1)).state;
  const unwell: Partial<Unanswered> = { chargedTokens: 123, message: "half a crab: \ud83e" };
  const [end, over] = conclude(request, state, trouble("unauthorized", unwell), withFallback, noon);
  expect(end?.value).toMatchObject({ chargedTokens: 123n, message: "half a crab: \ufffd" });
  expect(over?.value).toMatchObject({ message: "half a crab: \ufffd" });
});

describe("after the server was stopped", () => {
  const lost: Outcome = { kind: "lost" };
  const resumed = (stepsRemaining = 7): NewFact => ({
    case: "turnResumed",
    value: { resumedReason: "server_restarted", stepsRemaining },
  });
  /** Nobody knows what it has cost: all that was reserved. */
  const lostCall = (time: number): NewFact => ({
    case: "modelCallFailed",
    value: {
      callId: `call ${time}`,
      reason: "server_stopped",
      message: "The server was stopped.",
      chargedTokens: 9_000n,
    },
  });
  const lostTimes = (times: number) =>
    Array.from({ length: times }, (_, index) => index + 1).flatMap((time) => [
      asked(time),
      lostCall(time),
      retried(time, "server_stopped"),
    ]);

  test("the question that was lost is asked again, at once, of the same model", () => {
    given(turn, asked(1)).when(hear, lost).thenRecords(resumed(), lostCall(1), retried(1, "server_stopped"));
    given(turn, ...onFallback, asked(2, "fallback"))
      .when(hear, lost, withFallback, stepEnd + 1)
      .thenRecords(resumed(), lostCall(2), retried(2, "server_stopped", "fallback"));
  });

  test("a question that was lost is none that failed", () => {
    given(turn, ...lostTimes(9), asked(10))
      .when(hear, trouble("cut"))
      .thenRecords(failed(10, "cut"), retried(10, "cut", "primary", noon + 500));
  });

  test("it goes on ten times at a step, and not an eleventh", () => {
    const message = "The server was stopped too often in the middle of it.";
    given(turn, ...lostTimes(9), asked(10))
      .when(hear, lost)
      .thenRecords(resumed(), lostCall(10), retried(10, "server_stopped"));
    given(turn, ...lostTimes(10), asked(11))
      .when(hear, lost)
      .thenRecords(resumed(), lostCall(11), {
        case: "turnFailed",
        value: { code: "TURN_LOST", message, retryable: true },
      });
  });

  test("another step has its own ten", () => {
    given(turn, ...lostTimes(10), asked(11), finished(11), ...planned(1, 1, "mail_send"), asked(12))
      .when(hear, lost)
      .thenRecords(resumed(6), lostCall(12), {
        ...retried(12, "server_stopped"),
        value: { ...retried(12, "server_stopped").value, attempt: 1 },
      } as NewFact);
  });

  test("a turn that was using a tool, waiting, or doing nothing just goes on", () => {
    given(turn, asked(1), finished(1), ...planned(1, 1, "look_up"), using(1, 1))
      .when(hear, lost)
      .thenRecords(resumed(6));
    given(turn, asked(1), failed(1, "cut"), retried(1, "cut", "primary", noon + 500))
      .when(hear, lost)
      .thenRecords(resumed());
    given(turn).when(hear, lost).thenRecords(resumed());
  });
});
