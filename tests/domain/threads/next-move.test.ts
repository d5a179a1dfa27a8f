import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { initialTurnQueue, nextMove, type Move } from "../../../domain/threads/index.js";
import { given } from "../../support/given.js";
import {
  asked,
  committed,
  failed,
  finished,
  noon,
  over,
  planned,
  proposed,
  repairAttempted,
  requestOf,
  retried,
  turn,
  used,
  using,
} from "../../support/turn-story.js";

const busy = { ...initialTurnQueue, active: requestOf("turn-1") };

function moveAfter(
  facts: readonly NewFact[],
  {
    maxToolSteps = 10,
    at = noon,
    isInterrupted = false,
  }: Partial<Record<"maxToolSteps" | "at", number>> & {
    readonly isInterrupted?: boolean;
  } = {},
): Move {
  const { state } = given(turn, ...facts);
  return nextMove(requestOf("turn-1", { maxToolSteps }), state, { ...busy, isInterrupted }, at);
}

/** The id of the call, if one is to be made. */
function callAfter(...facts: readonly NewFact[]): string | null {
  const move = moveAfter(facts);
  return move.kind === "use" ? move.call.toolCallId : null;
}

const ask = { kind: "ask", step: 1, attempt: 1, choice: "primary", isLastStep: false } as const;
const interrupted = { kind: "end", fact: over("TURN_INTERRUPTED", false) };

/** A step that used one tool. */
const stepTaken = (step: number) => [
  asked(step),
  finished(step),
  ...planned(step, 1, "look_up"),
  using(step, 1),
  used(step, 1),
];

describe("a turn", () => {
  test("begins by asking the model", () => {
    expect(moveAfter([])).toEqual(ask);
  });

  test("is over when the model has said something and wants nothing", () => {
    const said = [asked(1), finished(1), committed(1, "Good morning.", "call 1")];
    const completed = { case: "turnCompleted", value: { assistantMessageId: "message/turn-1/1" } };
    expect(moveAfter(said)).toEqual({ kind: "end", fact: completed });
  });

  test("is over in its last step, too", () => {
    const said = [...stepTaken(1), asked(2), finished(2), committed(2, "Good morning.", "call 2")];
    const completed = { case: "turnCompleted", value: { assistantMessageId: "message/turn-1/2" } };
    expect(moveAfter(said, { maxToolSteps: 2 })).toEqual({ kind: "end", fact: completed });
  });

  test("uses the tools that the model wants and policy allows, one after the other", () => {
    const step = [asked(1), finished(1), committed(1, "One moment.", "call 1"), ...planned(1, 1, "look_up")];
    const both = [...step, ...planned(1, 2, "notes_write")];
    expect(callAfter(...both)).toBe("tool-call/turn-1/1/1");
    expect(callAfter(...both, using(1, 1), used(1, 1))).toBe("tool-call/turn-1/1/2");
    expect(moveAfter([...both, using(1, 1), used(1, 1), using(1, 2), used(1, 2)])).toEqual({ ...ask, step: 2 });
  });

  test("uses a tool again that was being used when the server was stopped", () => {
    const step = [asked(1), finished(1), ...planned(1, 1, "look_up")];
    expect(moveAfter([...step, using(1, 1)])).toMatchObject({ kind: "use", call: { executionId: "run 1/1" } });
  });

  test.each([["a_tool_that_there_is_not"], ["mail_send"]])(
    "does not use what policy does not allow, such as %s in nobody's name: the model is told so",
    (tool) => {
      const step = [asked(1), finished(1), ...planned(1, 1, tool)];
      expect(moveAfter(step)).toEqual({ ...ask, step: 2 });
      expect(callAfter(...step, ...planned(1, 2, "look_up"))).toBe("tool-call/turn-1/1/2");
    },
  );

  test("does not use what policy has not decided about", () => {
    expect(moveAfter([asked(1), finished(1), planned(1, 1, "look_up")[0]!])).toEqual({ ...ask, step: 2 });
  });
});

describe("a turn that has proposed something", () => {
  const pause = (...places: string[]) => ({
    kind: "pause",
    actionIds: places.map((place) => `action/tool-call/turn-1/${place}`),
  });
  const step = [asked(1), finished(1), ...proposed(1, 1, "a@b.example")];
  const both = [...step, ...proposed(1, 2, "b@b.example")];

  test("pauses until all of it is settled, and then asks", () => {
    expect(moveAfter(step)).toEqual(pause("1/1"));
    expect(moveAfter(both)).toEqual(pause("1/1", "1/2"));
    expect(moveAfter([...both, used(1, 2)])).toEqual(pause("1/1"));
    expect(moveAfter([...both, used(1, 2), used(1, 1)])).toEqual({ ...ask, step: 2 });
  });

  test("uses first what it may use without asking anybody, whatever the order", () => {
    const mixed = [...step, ...planned(1, 2, "look_up"), ...planned(1, 3, "no_such_tool")];
    expect(callAfter(...mixed)).toBe("tool-call/turn-1/1/2");
    expect(moveAfter([...mixed, using(1, 2), used(1, 2)])).toEqual(pause("1/1"));
  });

  test("pauses in its last step, too, and is over after that", () => {
    expect(moveAfter(step, { maxToolSteps: 1 })).toEqual(pause("1/1"));
    expect(moveAfter([...step, used(1, 1)], { maxToolSteps: 1 })).toEqual({
      kind: "end",
      fact: over("TURN_STEP_LIMIT", false),
    });
  });

  test("does not wait if a newer message came", () => {
    expect(moveAfter(step, { isInterrupted: true })).toEqual(interrupted);
  });
});

describe("a turn that has come to its last step", () => {
  test.each([
    [1, []],
    [2, stepTaken(1)],
    [3, [...stepTaken(1), ...stepTaken(2)]],
  ])("of %s knows it", (maxToolSteps, history) => {
    expect(moveAfter(history, { maxToolSteps })).toEqual({ ...ask, step: maxToolSteps, isLastStep: true });
    expect(moveAfter(history, { maxToolSteps: maxToolSteps + 1 })).toMatchObject({ isLastStep: false });
  });

  test("ends, if the model wants to go on nevertheless; what it may still use, it uses", () => {
    const wanted = [asked(1), finished(1), ...planned(1, 1, "look_up")];
    expect(moveAfter(wanted, { maxToolSteps: 1 })).toMatchObject({ kind: "use" });
    expect(moveAfter([...wanted, using(1, 1), used(1, 1)], { maxToolSteps: 1 })).toEqual({
      kind: "end",
      fact: over("TURN_STEP_LIMIT", false),
    });
  });
});

describe("a model that has to be asked again", () => {
  const retry = [asked(1), failed(1, "cut"), retried(1, "cut", "primary", noon + 500)];

  test("is left alone until then", () => {
    expect(moveAfter(retry, { at: noon })).toEqual({ kind: "wait", until: noon + 500 });
    expect(moveAfter(retry, { at: noon + 499 })).toEqual({ kind: "wait", until: noon + 500 });
    expect(moveAfter(retry, { at: noon + 500 })).toEqual({ ...ask, attempt: 2 });
  });

  test("is not waited for when it is asked at once", () => {
    expect(moveAfter([asked(1), failed(1, "cut"), retried(1, "cut")])).toEqual({ ...ask, attempt: 2 });
  });

  test("is the other one, from then on", () => {
    const switched = [asked(1), failed(1, "rejected"), retried(1, "rejected", "fallback")];
    expect(moveAfter(switched)).toEqual({ ...ask, attempt: 2, choice: "fallback" });
    const later = [asked(2, "fallback"), finished(2), ...planned(1, 1, "no_such_tool")];
    expect(moveAfter([...switched, ...later])).toEqual({ ...ask, step: 2, choice: "fallback" });
  });

  test("is the one that the repair is for", () => {
    const said = { callId: "call 1", reason: "bad", output: "bad" };
    const first = [asked(1), finished(1), repairAttempted(1, "primary", said)];
    expect(moveAfter(first)).toEqual({ ...ask, attempt: 2 });
    const second = [asked(2), finished(2), repairAttempted(2, "fallback", said)];
    expect(moveAfter([...first, ...second])).toEqual({ ...ask, attempt: 3, choice: "fallback" });
  });
});

test.each<[string, readonly NewFact[]]>([
  ["has not begun", []],
  ["would wait", [asked(1), failed(1, "cut"), retried(1, "cut", "primary", noon + 500)]],
  ["would use a tool", [asked(1), finished(1), ...planned(1, 1, "look_up")]],
  ["would use the next tool", [...stepTaken(1), ...planned(1, 2, "look_up")]],
  ["would ask again", stepTaken(1)],
])("a turn that is interrupted ends, when it %s", (_what, history) => {
  expect(moveAfter(history, { isInterrupted: true })).toEqual(interrupted);
});

test("a turn that has its answer is complete, although a newer message came", () => {
  const said = [asked(1), finished(1), committed(1, "Good morning.", "call 1")];
  const completed = { case: "turnCompleted", value: { assistantMessageId: "message/turn-1/1" } };
  expect(moveAfter(said, { isInterrupted: true })).toEqual({ kind: "end", fact: completed });
  const wantsMore = [...said, ...planned(1, 1, "look_up")];
  expect(moveAfter(wantsMore, { isInterrupted: true })).toEqual(interrupted);
});
