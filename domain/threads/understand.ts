import { z } from "zod";
import type { Toolbox } from "../approvals/index.js";
import { callFinished, withinTokens } from "../budgets/index.js";
import type { NewFact } from "../shared/index.js";
import { normalise, type PlannedCall } from "./model-output.js";
import type { Answered, TurnRules } from "./outcome.js";
import { inNameOf, plannedCalls } from "./plan-calls.js";
import { callInFlight, type Turn } from "./turn.js";
import { turnFailed } from "./turn-end.js";
import type { TurnRequest } from "./turn-queue.js";

const repairOutputTokensMax = 4_000;
const reasonTokensMax = 500;
/** What comes of a call in the last step nobody could be told any more. */
const calledTooLate = "this is the last step of the turn, in which no tools can be called";

/** What an answer says, once it is known to make sense; or what is done about it if it does not. */
export function understood(request: TurnRequest, turn: Turn, answer: Answered, rules: TurnRules): readonly NewFact[] {
  const { callId } = callInFlight(turn);
  const step = turn.steps.length + 1;
  const useless = turnFailed("FAILED_MODEL_OUTPUT", true);
  const normalised = normalise(answer);
  if (normalised.outcome === "invalid") return unusable(turn, answer, normalised.why, rules, useless);
  const { text, calls } = normalised;
  const isTooLate = calls.length > 0 && step >= request.budget.maxToolSteps;
  if (isTooLate) return unusable(turn, answer, calledTooLate, rules, turnFailed("TURN_STEP_LIMIT", false));
  const wrong = whatIsWrong(calls, rules.toolbox);
  if (wrong !== null) return unusable(turn, answer, wrong, rules, useless);
  const messageId = rules.derive("message", request.turnId, String(step));
  // The model had more to say than it may.
  const cutShort = answer.finishReason === "length" ? { metadata: { finish_reason: answer.finishReason } } : {};
  const message: NewFact = {
    case: "assistantMessageCommitted",
    value: { messageId, fullText: text, segmentId: callId, ...cutShort },
  };
  return [
    callFinished(callId, answer),
    ...(text.trim() === "" ? [] : [message]),
    ...plannedCalls(request, turn, calls, step, rules),
  ];
}

/** Unknown tools are for policy to judge; a known one is called as it wants to be. */
function whatIsWrong(calls: readonly PlannedCall[], toolbox: Toolbox): string | null {
  for (const call of calls) {
    const tool = toolbox.find(call.tool);
    const parsed = tool?.args.safeParse(inNameOf(call, tool).args);
    if (parsed?.success === false) return `arguments of ${call.tool}: ${z.prettifyError(parsed.error)}`;
  }
  return null;
}

/** Once more on the same model, then once on the other; then it is too bad, and the turn ends. */
function unusable(
  turn: Turn,
  answer: Answered,
  why: string,
  { hasFallback }: TurnRules,
  end: NewFact,
): readonly NewFact[] {
  const { callId } = callInFlight(turn);
  const reason = withinTokens(why.toWellFormed(), reasonTokensMax);
  const finished = callFinished(callId, answer, reason);
  const attempt = turn.repairs.length + 1;
  const isLastOnThis = attempt > 1;
  const canSwitch = hasFallback && turn.choice === "primary";
  if (attempt > 2 || (isLastOnThis && !canSwitch)) return [finished, end];
  const said =
    answer.toolCalls.length === 0 ? answer.text : JSON.stringify({ text: answer.text, calls: answer.toolCalls });
  return [
    finished,
    {
      case: "modelOutputRepairAttempted",
      value: {
        repairAttempt: attempt,
        fallbackModelUsed: isLastOnThis || turn.choice === "fallback",
        callId,
        reason,
        output: withinTokens(said.toWellFormed(), repairOutputTokensMax),
      },
    },
  ];
}
