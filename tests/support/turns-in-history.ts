import type { NewFact } from "../../domain/shared/index.js";
import * as facts from "./turn-facts.js";

export const turnFactKinds = [
  "asked",
  "paused",
  "resumed",
  "completed",
  "failed",
  "called",
  "call finished",
  "call failed",
  "summarised",
  "noted",
  "made",
] as const;
export type TurnFactKind = (typeof turnFactKinds)[number];

/** The turns of one thread: one at a time, the others in the order they were asked for; some wait for the owner. */
export interface Turns {
  readonly active: string | null;
  readonly waiting: readonly string[];
  readonly paused: readonly string[];
  readonly openCalls: readonly string[];
}

export const noTurns: Turns = { active: null, waiting: [], paused: [], openCalls: [] };

interface Happened {
  readonly turns: Turns;
  readonly facts: readonly NewFact[];
}

/** What is recorded of a thread's turns when this happens: nothing, where it cannot. */
export function turnFacts(turns: Turns, kind: TurnFactKind, name: string): Happened {
  const { active, waiting, paused, openCalls } = turns;
  const [call, ...otherCalls] = openCalls;
  const [asleep, ...otherAsleep] = paused;
  const happened = (fact: NewFact, changes: Partial<Turns> = {}): Happened => ({
    turns: { ...turns, ...changes },
    facts: [fact],
  });
  switch (kind) {
    case "asked":
      if (active === null) return happened(facts.turnStarted(name), { active: name });
      return happened(facts.turnQueued(name), { waiting: [...waiting, name] });
    case "paused":
      if (active !== null) return left({ ...turns, paused: [...paused, active] }, facts.turnPaused(active));
      break;
    case "resumed":
      // While another runs, only a server that was restarted says so, of that one.
      if (active !== null) return happened(facts.turnResumed(active));
      if (asleep !== undefined) return happened(facts.turnResumed(asleep), { active: asleep, paused: otherAsleep });
      break;
    case "completed":
      if (active !== null) return left(turns, facts.turnCompleted(`answer ${name}`));
      break;
    case "failed":
      if (active !== null) return left(turns, facts.turnFailed(name));
      break;
    case "called":
      return happened(facts.callStarted(name), { openCalls: [...openCalls, name] });
    case "call finished":
      if (call !== undefined) return happened(facts.callFinished(call), { openCalls: otherCalls });
      break;
    case "call failed":
      if (call !== undefined) return happened(facts.callFailed(call), { openCalls: otherCalls });
      break;
    case "summarised":
      return happened(facts.summaryWritten(name));
    case "noted":
      return happened(facts.noteWritten(`note ${Number(name.at(-1)) % 2}`, name)); // Few, so that some are written again.
    case "made":
      return happened(facts.artifactCreated(name, name));
  }
  return { turns, facts: [] };
}

/** The next one begins at once. */
function left(turns: Turns, end: NewFact): Happened {
  const [next, ...waiting] = turns.waiting;
  if (next === undefined) return { turns: { ...turns, active: null }, facts: [end] };
  return { turns: { ...turns, active: next, waiting }, facts: [end, facts.turnStarted(next)] };
}
