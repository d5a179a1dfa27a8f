import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { evolveTurn, initialTurn, initialTurnQueue, nextMove, turnFailures } from "../../../domain/threads/index.js";
import type { EventType, Fact, NewFact, PayloadOf } from "../../../domain/shared/index.js";
import { proposalsPerTurnMax } from "../../../domain/approvals/index.js";
import { PolicyDecision } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { asRead } from "../../support/facts.js";
import { anyGame, play, type Game } from "../../support/turn-player.js";
import { noon, requestOf } from "../../support/turn-story.js";

const lossesPerStepMax = 11;
/** Three failures of each model, each twice if an answer makes no sense, and all that was lost. */
const asksPerStepMax = 3 * 3 + lossesPerStepMax;
const toolsPerStepMax = 4;
/** Each failure may be waited for, and what was proposed, once. */
const movesPerStepMax = asksPerStepMax + 3 * 3 + toolsPerStepMax + 1;

function all<T extends EventType>(facts: readonly NewFact[], type: T): PayloadOf<T>[] {
  return facts.filter((fact) => fact.case === type).map((fact) => asRead(fact).value as PayloadOf<T>);
}

function expectInEveryGame(check: (played: ReturnType<typeof play>, game: Game) => void): void {
  fc.assert(
    fc.property(anyGame, (game) => {
      check(play(game), game);
    }),
    { numRuns: 200 },
  );
}

describe("whatever comes of its questions and tools, a turn", () => {
  test("ends once, with its last fact, after not too many moves", () => {
    expectInEveryGame(({ facts, moves }, { maxToolSteps }) => {
      const ends = [...all(facts, "turnCompleted"), ...all(facts, "turnFailed")];
      expect(ends).toEqual([asRead(facts.at(-1)!).value]);
      for (const { code, message } of all(facts, "turnFailed")) {
        expect(turnFailures).toHaveProperty(code, message);
      }
      // A tool of the last step may have to be used again.
      expect(moves.length).toBeLessThanOrEqual(maxToolSteps * movesPerStepMax + lossesPerStepMax + 1);
    });
  });

  test("has as many steps as it may at most, and asks not too often in each", () => {
    expectInEveryGame(({ facts, live }, { maxToolSteps }) => {
      expect(live.steps.length).toBeLessThanOrEqual(maxToolSteps);
      const steps = all(facts, "modelCallStarted").map(({ step }) => step);
      expect(Math.max(...steps, 0)).toBeLessThanOrEqual(maxToolSteps);
      for (const step of new Set(steps)) {
        expect(steps.filter((one) => one === step).length).toBeLessThanOrEqual(asksPerStepMax);
      }
    });
  });

  test("gets one end of each question, and asks one at a time", () => {
    expectInEveryGame(({ facts }) => {
      const asked: (string | undefined)[] = [];
      let open: string | undefined;
      for (const fact of facts) {
        if (fact.case === "modelCallStarted") {
          expect(open).toBeUndefined();
          expect(asked).not.toContain(fact.value.callId);
          asked.push((open = fact.value.callId));
        }
        if (fact.case !== "modelCallFinished" && fact.case !== "modelCallFailed") continue;
        expect(fact.value.callId).toBe(open);
        open = undefined;
      }
      expect(open).toBeUndefined();
    });
  });

  test("tells a model twice at most in a step that it makes no sense", () => {
    expectInEveryGame(({ facts }) => {
      let attempts: (number | undefined)[] = [];
      for (const fact of facts) {
        if (fact.case === "modelCallStarted" && fact.value.attempt === 1) attempts = [];
        if (fact.case === "modelOutputRepairAttempted") attempts.push(fact.value.repairAttempt);
        expect([[], [1], [1, 2]]).toContainEqual(attempts);
      }
    });
  });

  test("uses only what policy allows, each call once, after it was planned and judged", () => {
    expectInEveryGame(({ facts }) => {
      const allowed = new Set<string | undefined>();
      const begun = new Set<string | undefined>();
      const done = new Set<string | undefined>();
      const planned = new Set<string | undefined>();
      const proposed = new Set<string | undefined>();
      for (const fact of facts) {
        if (fact.case === "toolCallPlanned") {
          expect(planned).not.toContain(fact.value.toolCallId);
          planned.add(fact.value.toolCallId);
        }
        if (fact.case === "policyDecisionMade" && fact.value.decision === PolicyDecision.ALLOW_INTERNAL) {
          expect(planned).toContain(fact.value.toolCallId);
          allowed.add(fact.value.toolCallId);
        }
        if (fact.case === "proposedActionCreated") {
          expect(proposed).not.toContain(fact.value.toolCallId);
          expect(allowed).not.toContain(fact.value.toolCallId);
          proposed.add(fact.value.toolCallId);
        }
        if (fact.case === "toolExecutionStarted") {
          expect(proposed).not.toContain(fact.value.toolCallId);
          expect(allowed).toContain(fact.value.toolCallId);
          expect(begun).not.toContain(fact.value.toolCallId);
          begun.add(fact.value.toolCallId);
        }
        if (fact.case === "toolExecutionFinished") {
          expect([...begun, ...proposed]).toContain(fact.value.toolCallId);
          expect(done).not.toContain(fact.value.toolCallId);
          done.add(fact.value.toolCallId);
        }
      }
    });
  });

  test("pauses with all that it has proposed and nothing settles, and goes on only once all of it is settled", () => {
    expectInEveryGame(({ facts }) => {
      let open = 0;
      for (const fact of facts) {
        if (fact.case === "proposedActionCreated") open += 1;
        if (fact.case === "turnPaused") expect([fact.value.pendingActionCount, open > 0]).toEqual([open, true]);
        if (fact.case === "toolExecutionFinished" && fact.value.executionId === undefined) open -= 1;
        if (fact.case === "modelCallStarted" || fact.case === "turnCompleted") expect(open).toBe(0);
      }
    });
  });

  test("proposes so many actions at most, and tells the owner of each", () => {
    expectInEveryGame(({ facts }) => {
      const actions = all(facts, "proposedActionCreated").map(({ actionId }) => actionId);
      expect(actions.length).toBeLessThanOrEqual(proposalsPerTurnMax);
      expect(all(facts, "notificationQueued").map(({ resourceId }) => resourceId)).toEqual(actions);
    });
  });

  test("stays with the other model once it has gone there, and never goes there where there is none", () => {
    expectInEveryGame(({ facts }, { hasFallback }) => {
      const choices = all(facts, "modelCallStarted").map(({ fallbackModelUsed }) => fallbackModelUsed);
      expect(choices).toEqual(choices.toSorted((a, b) => Number(a) - Number(b)));
      if (!hasFallback) expect(choices).not.toContain(true);
    });
  });

  test("asks nobody any more with a key that was not known", () => {
    expectInEveryGame(({ facts }) => {
      const refused = facts.findIndex(
        (fact) => fact.case === "modelCallFailed" && fact.value.reason === "unauthorized",
      );
      if (refused !== -1) expect(facts.slice(refused + 1).map((fact) => fact.case)).toEqual(["turnFailed"]);
    });
  });

  test("begins nothing once it was interrupted", () => {
    expectInEveryGame(({ facts, factsBeforeInterrupt }) => {
      const later = facts.slice(factsBeforeInterrupt ?? facts.length);
      expect(all(later, "modelCallStarted")).toEqual([]);
      expect(all(later, "toolExecutionStarted")).toEqual([]);
    });
  });

  test("is the same when it is read from the log", () => {
    expectInEveryGame(({ live, replayed }) => {
      expect(replayed).toEqual(live);
    });
  });
});

describe("whatever was erased of a turn,", () => {
  const request = requestOf("turn-1");
  const erasures = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 });

  function left(facts: readonly NewFact[], isErased: readonly boolean[]): Fact[] {
    return facts.map((fact, index) =>
      isErased[index % isErased.length] === true ? ({ case: fact.case, value: null } as Fact) : asRead(fact),
    );
  }

  test("the rest is read, and nothing is used that was not allowed", () => {
    fc.assert(
      fc.property(anyGame, erasures, fc.nat(), (game, isErased, length) => {
        const { facts } = play(game);
        const some = facts.slice(0, length % (facts.length + 1));
        const allowed = all(some, "policyDecisionMade")
          .filter(({ decision }) => decision === PolicyDecision.ALLOW_INTERNAL)
          .map(({ toolCallId }) => toolCallId);
        const state = left(some, isErased).reduce(evolveTurn, initialTurn);
        const move = nextMove(request, state, { ...initialTurnQueue, active: request }, noon);
        if (move.kind === "use") expect(allowed).toContain(move.call.toolCallId);
      }),
    );
  });
});
