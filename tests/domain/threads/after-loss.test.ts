import { describe, test } from "@jest/globals";
import { accept, type NewFact } from "../../../domain/shared/index.js";
import { conclude, type Outcome, type Turn } from "../../../domain/threads/index.js";
import { given } from "../../support/given.js";
import {
  asked,
  failed,
  finished,
  noon,
  over,
  planned,
  proposed,
  requestOf,
  resumed,
  retried,
  stepEnd,
  trouble,
  turn,
  used,
  using,
  withFallback,
} from "../../support/turn-story.js";

const request = requestOf("turn-1", { maxToolSteps: 7 });
const onFallback = [asked(1), failed(1, "rejected"), retried(1, "rejected", "fallback")];

function hear(state: Turn, heard: Outcome, rules = withFallback, at = noon) {
  return accept(...conclude(request, state, heard, rules, at));
}

describe("after the server was stopped", () => {
  const lost: Outcome = { kind: "lost", why: "server_stopped" };
  /** Nobody knows what it has cost: all that was reserved. */
  const lostCall = (time: number, reason = "server_stopped", message = "The server was stopped."): NewFact => {
    const asked = { callId: `call ${time}`, provider: "somewhere", model: "some model" };
    return { case: "modelCallFailed", value: { ...asked, reason, message, chargedTokens: 9_000n } };
  };
  const lostTimes = (times: number) =>
    Array.from({ length: times }, (_, index) => index + 1).flatMap((time) => [
      asked(time),
      resumed(0),
      lostCall(time),
      retried(time, "server_stopped"),
    ]);
  const reading = [asked(1), finished(1), ...planned(1, 1, "look_up"), using(1, 1)];
  const times = (count: number, fact: NewFact) => Array.from({ length: count }, () => fact);

  test("the question that was lost is asked again, at once, of the same model, with all the time of a step", () => {
    given(turn, asked(1)).when(hear, lost).thenRecords(resumed(0), lostCall(1), retried(1, "server_stopped"));
    given(turn, ...onFallback, asked(2, "fallback"))
      .when(hear, lost, withFallback, stepEnd + 1)
      .thenRecords(resumed(0, stepEnd + 1), lostCall(2), retried(2, "server_stopped", "fallback"));
  });

  test("a question that was lost is none that failed", () => {
    given(turn, ...lostTimes(9), asked(10))
      .when(hear, trouble("cut"))
      .thenRecords(failed(10, "cut"), retried(10, "cut", "primary", noon + 500));
  });

  test("it goes on ten times at a step, and not an eleventh", () => {
    given(turn, ...lostTimes(9), asked(10))
      .when(hear, lost)
      .thenRecords(resumed(0), lostCall(10), retried(10, "server_stopped"));
    given(turn, ...lostTimes(10), asked(11))
      .when(hear, lost)
      .thenRecords(resumed(0), lostCall(11), over("TURN_LOST", true));
  });

  test("another step has its own ten", () => {
    given(turn, ...lostTimes(10), asked(11), finished(11), ...planned(1, 1, "no_such_tool"), asked(12))
      .when(hear, lost)
      .thenRecords(resumed(1), lostCall(12), {
        ...retried(12, "server_stopped"),
        value: { ...retried(12, "server_stopped").value, attempt: 1 },
      } as NewFact);
  });

  test("a tool that was being used is used again, ten times, and not an eleventh", () => {
    given(turn, ...reading)
      .when(hear, lost)
      .thenRecords(resumed(1));
    given(turn, ...reading, ...times(9, resumed(1)))
      .when(hear, lost)
      .thenRecords(resumed(1));
    given(turn, ...reading, ...times(10, resumed(1)))
      .when(hear, lost)
      .thenRecords(resumed(1), over("TURN_LOST", true));
  });

  test("a question that waits to be asked again waits on, with all the time of a step; ten times, and not an eleventh", () => {
    const waiting = [asked(1), failed(1, "cut"), retried(1, "cut", "primary", noon + 500)];
    given(turn, ...waiting)
      .when(hear, lost, withFallback, stepEnd + 1)
      .thenRecords(resumed(0, stepEnd + 1));
    given(turn, ...waiting, ...times(10, resumed(0)))
      .when(hear, lost)
      .thenRecords(resumed(0), over("TURN_LOST", true));
  });

  test("or something broke in it, what is said is what has happened", () => {
    const brokeOff: Outcome = { kind: "lost", why: "broke_off" };
    given(turn, asked(1))
      .when(hear, brokeOff)
      .thenRecords(
        resumed(0, noon, "broke_off"),
        lostCall(1, "broke_off", "Something broke in the middle of it."),
        retried(1, "broke_off"),
      );
  });

  test("a turn that had nothing under way just goes on, and nothing is said of it", () => {
    given(turn).when(hear, lost).thenDoesNothing();
    given(turn, ...lostTimes(10))
      .when(hear, lost)
      .thenDoesNothing();
    given(turn, asked(1), finished(1), ...planned(1, 1, "look_up"))
      .when(hear, lost)
      .thenDoesNothing();
    given(turn, ...reading, used(1, 1))
      .when(hear, lost)
      .thenDoesNothing();
    given(turn, asked(1), finished(1), ...proposed(1, 1, "a@b.example"))
      .when(hear, lost)
      .thenDoesNothing();
  });
});
