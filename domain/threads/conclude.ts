import { callFailed, withinTokens } from "../budgets/index.js";
import type { Instant, NewFact } from "../shared/index.js";
import type { Outcome, ToolFinished, TurnRules } from "./outcome.js";
import { afterLoss, triedAgain } from "./try-again.js";
import { callInFlight, type Turn } from "./turn.js";
import { resultTokensMax } from "./turn-budget.js";
import type { TurnRequest } from "./turn-queue.js";
import { understood } from "./understand.js";

/** The model must know that there is more, and that it does not get it. */
export const leftOut = "\n[The rest is left out.]";

/** What an outcome means, as facts. If one of them ends the turn, there is nothing more to do. */
export function conclude(
  request: TurnRequest,
  turn: Turn,
  outcome: Outcome,
  rules: TurnRules,
  at: Instant,
): readonly NewFact[] {
  switch (outcome.kind) {
    case "ready":
      return [];
    case "lost":
      return afterLoss(request, turn, outcome.why, at);
    case "answered":
      return understood(request, turn, outcome, rules);
    case "unanswered":
      return [callFailed(callInFlight(turn).callId, outcome), ...triedAgain(turn, outcome, rules, at)];
    case "tool_finished":
      return [...outcome.facts, told(request, turn, outcome)];
  }
}

/** A result, as much of it as the model may still be told. */
function told({ budget }: TurnRequest, turn: Turn, outcome: ToolFinished): NewFact {
  const { call, isFailure, isUntrusted, origin, isTimeout, durationMillis } = outcome;
  const tokensLeft = Math.max(0, budget.maxToolTokens - turn.toolTokens);
  const whole = outcome.text.toWellFormed();
  const text = withinTokens(whole, Math.min(resultTokensMax, tokensLeft));
  return {
    case: "toolExecutionFinished",
    value: {
      executionId: call.executionId ?? "",
      toolCallId: call.toolCallId,
      toolName: call.tool,
      exitCode: isFailure ? 1 : 0,
      durationMs: BigInt(Math.max(0, Math.round(durationMillis))),
      timedOut: isTimeout,
      truncated: text.length < whole.length,
      result: text.length === whole.length ? text : `${text}${leftOut}`,
      failed: isFailure,
      untrusted: isUntrusted,
      origin,
    },
  };
}
