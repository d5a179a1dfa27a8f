import { revisionsMax, type Action } from "../../domain/approvals/index.js";
import { refuse, type NewFact } from "../../domain/shared/index.js";
import {
  evolveThread,
  evolveTurn,
  evolveTurnQueue,
  initialThread,
  initialTurn,
  initialTurnQueue,
} from "../../domain/threads/index.js";
import { loadAction } from "../approvals/decide-action.js";
import { handle, type Handled, type Load } from "../handle.js";
import { threadStream, turnsStream, turnStream } from "./streams.js";
import { toldOf } from "./told-of-action.js";
import type { TurnPlace, TurnPorts } from "./turn-ports.js";
import { turnWrites } from "./turn-writes.js";

/** Goes on with a turn once everything that it has proposed is settled, and no other turn of its thread is active. */
export function resumeTurn(ports: TurnPorts, place: TurnPlace): Promise<Handled> {
  const { threadId, turnId } = place;
  return handle(ports, {
    at: ports.clock.now(),
    decide: (load) => {
      const thread = load(threadStream(threadId), initialThread, evolveThread);
      const queue = load(turnsStream(threadId), initialTurnQueue, evolveTurnQueue);
      const turn = load(turnStream(turnId), initialTurn, evolveTurn);
      const request = queue.paused.find((paused) => paused.turnId === turnId);
      if (thread.status !== "open" || request === undefined) return refuse("turn_not_active");
      if (queue.active !== null) return refuse("turn_in_progress", { turnId: queue.active.turnId });
      const waiting =
        turn.steps.at(-1)?.calls.filter(({ actionId, result }) => actionId !== null && result === null) ?? [];
      const tokensLeft = Math.max(0, request.budget.maxToolTokens - turn.toolTokens);
      const tokensMax = Math.floor(tokensLeft / Math.max(1, waiting.length));
      const told = waiting.map((call) => toldOf(call, latest(load, call.actionId ?? ""), tokensMax));
      if (told.includes(null)) return refuse("turn_not_active");
      const stepsUsed = turn.steps.length;
      const stepsRemaining = request.budget.maxToolSteps - stepsUsed;
      const resumed: NewFact = {
        case: "turnResumed",
        value: { turnId, resumedReason: "actions_settled", stepsUsed, stepsRemaining },
      };
      const facts = [resumed, ...told.filter((fact) => fact !== null)];
      return turnWrites(place, facts, { model: "", causationId: waiting.at(-1)?.actionId ?? turnId });
    },
  });
}

/** The revision that counts. */
function latest(load: Load, actionId: string): Action {
  let action = loadAction(load, actionId);
  for (let followed = 0; followed < revisionsMax; followed++) {
    if (action.status !== "rejected" || action.supersededBy === "") break;
    action = loadAction(load, action.supersededBy);
  }
  return action;
}
