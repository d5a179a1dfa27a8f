import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { estimateTokens } from "../../../domain/budgets/index.js";
import { accept, type NewFact } from "../../../domain/shared/index.js";
import {
  conclude,
  evolveTurn,
  type Outcome,
  type ToolCall,
  type ToolFinished,
  type Turn,
} from "../../../domain/threads/index.js";
import { given } from "../../support/given.js";
import { noteWritten } from "../../support/turn-facts.js";
import {
  asked,
  finished,
  noon,
  planned,
  requestOf,
  turn,
  used,
  using,
  withFallback,
} from "../../support/turn-story.js";

const resultTokensMax = 16_000;
const leftOut = "\n[The rest is left out.]";

const step = [asked(1), finished(1), ...planned(1, 1, "look_up"), ...planned(1, 2, "look_up")];
const inUse = [...step, using(1, 1)];

function callIn(state: Turn, index: number): ToolCall {
  return state.steps.at(-1)!.calls[index - 1]!;
}

function done(text: string, changes: Partial<ToolFinished> = {}, history = inUse): ToolFinished {
  const call = callIn(given(turn, ...history).state, 1);
  const usual = { isFailure: false, isUntrusted: false, origin: "", isTimeout: false, durationMillis: 12, facts: [] };
  return { kind: "tool_finished", call, text, ...usual, ...changes };
}

function hear(state: Turn, heard: Outcome, maxToolTokens = 100_000) {
  return accept(...conclude(requestOf("turn-1", { maxToolTokens }), state, heard, withFallback, noon));
}

function told(result: string, changes: object = {}): NewFact {
  const usual = { executionId: "run 1/1", toolCallId: "tool-call/turn-1/1/1", toolName: "look_up", durationMs: 12n };
  const value = { ...usual, result, ...changes };
  return { case: "toolExecutionFinished", value };
}

test("where nothing stands in the way, there is nothing to record", () => {
  given(turn).when(hear, { kind: "ready" }).thenDoesNothing();
  given(turn, ...inUse)
    .when(hear, { kind: "ready" })
    .thenDoesNothing();
});

describe("what a tool tells", () => {
  test("is recorded", () => {
    given(turn, ...inUse)
      .when(hear, done("It rains."))
      .thenRecords(told("It rains."));
    given(turn, ...inUse)
      .when(hear, done(""))
      .thenRecords(told(""));
  });

  test("comes after what it has done", () => {
    const facts = [noteWritten("run 1/1", "Buy some."), noteWritten("run 1/1", "Or not.")];
    given(turn, ...inUse)
      .when(hear, done("The note is written.", { facts }))
      .thenRecords(...facts, told("The note is written."));
  });

  test("says whether it failed, was too late, and who wrote it", () => {
    given(turn, ...inUse)
      .when(hear, done("No.", { isFailure: true }))
      .thenRecords(told("No.", { failed: true, exitCode: 1 }));
    given(turn, ...inUse)
      .when(hear, done("Too late.", { isFailure: true, isTimeout: true }))
      .thenRecords(told("Too late.", { failed: true, exitCode: 1, timedOut: true }));
    given(turn, ...inUse)
      .when(hear, done("Hi!", { isUntrusted: true, origin: "https://example.com/" }))
      .thenRecords(told("Hi!", { untrusted: true, origin: "https://example.com/" }));
  });

  test.each([
    [12.4, 12n],
    [12.5, 13n],
    [0, 0n],
    [-3, 0n], // The clock was set back.
  ])("says how long it took: %s ms are %s", (durationMillis, durationMs) => {
    given(turn, ...inUse)
      .when(hear, done("It rains.", { durationMillis }))
      .thenRecords(told("It rains.", { durationMs }));
  });

  test("is well-formed", () => {
    const { state } = given(turn, ...inUse);
    const [fact] = conclude(requestOf("turn-1"), state, done("half a crab: \ud83e"), withFallback, noon);
    expect(fact?.value).toMatchObject({ result: "half a crab: \ufffd" });
  });

  test("is cut where it is longer than any tool may tell, and says so", () => {
    const longest = "abc".repeat(resultTokensMax);
    given(turn, ...inUse)
      .when(hear, done(longest))
      .thenRecords(told(longest));
    given(turn, ...inUse)
      .when(hear, done(`${longest}d`))
      .thenRecords(told(`${longest}${leftOut}`, { truncated: true }));
  });

  test("is cut where the turn's budget for it ends, and then left out", () => {
    const before = [...step, used(1, 1, "abc".repeat(490)), using(1, 2)];
    const call = { call: callIn(given(turn, ...before).state, 2) };
    const second = { executionId: "run 1/2", toolCallId: "tool-call/turn-1/1/2" };
    given(turn, ...before)
      .when(hear, done("x".repeat(30), call), 500)
      .thenRecords(told("x".repeat(30), second));
    given(turn, ...before)
      .when(hear, done("x".repeat(31), call), 500)
      .thenRecords(told(`${"x".repeat(30)}${leftOut}`, { ...second, truncated: true }));
    const spent = [...step, used(1, 1, "abc".repeat(500)), using(1, 2)];
    given(turn, ...spent)
      .when(hear, done("x", call), 500)
      .thenRecords(told(leftOut, { ...second, truncated: true }));
    given(turn, ...spent)
      .when(hear, done("", call), 500)
      .thenRecords(told("", second));
  });

  test("is left out where not even its first character fits", () => {
    const before = [...step, used(1, 1, "abc".repeat(499)), using(1, 2)];
    const call = { call: callIn(given(turn, ...before).state, 2) };
    const heard = conclude(
      requestOf("turn-1", { maxToolTokens: 500 }),
      given(turn, ...before).state,
      done("\u{1f980}", call),
      withFallback,
      noon,
    );
    expect(heard[0]?.value).toMatchObject({ result: leftOut, truncated: true });
  });

  test("is never more than the turn's budget in all, apart from saying that something was left out", () => {
    const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 900 }), { maxLength: 10 });
    fc.assert(
      fc.property(texts, (results) => {
        const request = requestOf("turn-1", { maxToolTokens: 500 });
        let state = given(turn, ...inUse).state;
        let tokens = 0;
        for (const text of results) {
          const [fact] = conclude(request, state, done(text), withFallback, noon);
          if (fact?.case !== "toolExecutionFinished") throw new Error("nothing was told");
          const { result = "", truncated } = fact.value;
          const told = truncated === true ? result.slice(0, -leftOut.length) : result;
          expect(result).toBe(truncated === true ? `${told}${leftOut}` : text.toWellFormed());
          expect(text.toWellFormed().startsWith(told)).toBe(true);
          tokens += estimateTokens(told);
          state = evolveTurn(state, fact);
        }
        expect(tokens).toBeLessThanOrEqual(500);
      }),
    );
  });
});
