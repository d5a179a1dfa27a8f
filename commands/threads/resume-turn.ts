import type { Action } from "../../domain/approvals/index.js";
import { withinTokens } from "../../domain/budgets/index.js";
import { refuse, type NewFact } from "../../domain/shared/index.js";
import {
  evolveThread,
  evolveTurn,
  evolveTurnQueue,
  initialThread,
  initialTurn,
  initialTurnQueue,
  leftOut,
  type ToolCall,
} from "../../domain/threads/index.js";
import { loadAction } from "../approvals/decide-action.js";
import { handle, type Handled, type Load } from "../handle.js";
import { threadStream, turnsStream, turnStream } from "./streams.js";
import type { TurnPlace, TurnPorts } from "./turn-ports.js";
import { turnWrites } from "./turn-writes.js";

/** How many revisions of an action are followed to the one that counts. */
const revisionsMax = 100;

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
      const stepsRemaining = request.budget.maxToolSteps - turn.steps.length;
      const resumed: NewFact = {
        case: "turnResumed",
        value: { turnId, resumedReason: "actions_settled", stepsRemaining },
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

/** What the model is told; null while it is not settled. */
function toldOf(call: ToolCall, action: Action, tokensMax: number): NewFact | null {
  switch (action.status) {
    case "none":
    case "pending":
      return null;
    case "rejected":
      return finished(call, rejection(action), true);
    case "executed": {
      const { text, isUntrusted, origin } = action.result;
      const edited = action.plan.revision > 1 ? ` The owner had changed it: ${JSON.stringify(action.plan.args)}.` : "";
      const told = withinTokens(text, tokensMax);
      const result = `It was done.${edited}\n${told}${told.length < text.length ? leftOut : ""}`.trim();
      return finished(call, result, false, isUntrusted, origin);
    }
    case "approved":
      switch (action.execution.state) {
        case "due":
        case "intended":
        case "done": // Its status follows in the same breath.
          return null;
        case "unknown":
          return finished(call, "Nobody knows whether it was done. The owner is asked. Do not propose it again.", true);
        case "failed":
          return finished(call, `The owner approved it, but it was not done: ${action.execution.reason}`, true);
      }
  }
}

function rejection({ code, reason }: Extract<Action, { status: "rejected" }>): string {
  switch (code) {
    case "expired":
      return "Nobody approved it in time. Nothing was done.";
    case "cancelled":
      return "The owner took the approval back. Nothing was done.";
    case "idempotency_conflict":
      return "It has the idempotency key of something else. Nothing was done.";
    default:
      return reason === ""
        ? "The owner rejected it. Nothing was done."
        : `The owner rejected it. Nothing was done. Their reason: ${reason}`;
  }
}

function finished(
  { toolCallId, tool: toolName }: ToolCall,
  result: string,
  failed: boolean,
  untrusted = false,
  origin = "",
): NewFact {
  return {
    case: "toolExecutionFinished",
    value: { toolCallId, toolName, result, failed, untrusted, origin, exitCode: failed ? 1 : 0 },
  };
}
