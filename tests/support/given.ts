import { expect } from "@jest/globals";
import type { Decision, Fact, NewFact, Refusal, RefusalCode } from "../../domain/shared/index.js";
import { asRead } from "./facts.js";

interface Given<State> {
  /** What the facts amount to. */
  readonly state: State;
  when<Args extends readonly unknown[]>(decide: (state: State, ...args: Args) => Decision, ...args: Args): Then<State>;
}

interface Then<State> {
  /** Answers what is given afterwards, so that a story can go on. */
  thenRecords(...facts: NewFact[]): Given<State>;
  thenRefuses(code: RefusalCode, facts?: Refusal["facts"]): void;
  thenDoesNothing(): void;
}

/** Sentences about one aggregate: given these facts, when this is decided, then that is recorded. */
export function given<State>(
  aggregate: { readonly initial: State; readonly evolve: (state: State, fact: Fact) => State },
  ...facts: readonly NewFact[]
): Given<State> {
  const state = facts.map(asRead).reduce(aggregate.evolve, aggregate.initial);
  return {
    state,
    when: (decide, ...args) => {
      const decision = decide(state, ...args);
      return {
        thenRecords: (...recorded) => {
          expect(readable(decision)).toEqual({ outcome: "accepted", facts: recorded.map(asRead) });
          return given(aggregate, ...facts, ...recorded);
        },
        thenRefuses: (code, said = {}) => {
          expect(decision).toEqual({ outcome: "refused", code, facts: said });
        },
        thenDoesNothing: () => {
          expect(decision).toEqual({ outcome: "accepted", facts: [] });
        },
      };
    },
  };
}

function readable(decision: Decision): unknown {
  return decision.outcome === "refused" ? decision : { ...decision, facts: decision.facts.map(asRead) };
}
