import type { JsonObject } from "@bufbuild/protobuf";
import { z } from "zod";
import { Identity, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { judge, type Toolbox } from "../approvals/index.js";
import { withinTokens } from "../budgets/index.js";
import type { NewFact } from "../shared/index.js";
import { normalise, type PlannedCall } from "./model-output.js";
import type { Answered, TurnRules } from "./outcome.js";
import { callInFlight, type Turn } from "./turn.js";
import { turnFailed } from "./turn-end.js";
import type { TurnRequest } from "./turn-queue.js";

const repairOutputTokensMax = 4_000;

/** What an answer says, once it is known to make sense; or what is done about it if it does not. */
export function understood(request: TurnRequest, turn: Turn, answer: Answered, rules: TurnRules): readonly NewFact[] {
  const normalised = normalise(answer);
  if (normalised.outcome === "invalid") return repair(turn, answer, normalised.why, rules);
  const wrong = normalised.calls.map((call) => whatIsWrong(call, rules.toolbox)).find((why) => why !== null);
  if (wrong !== undefined) return repair(turn, answer, wrong, rules);
  const step = turn.steps.length + 1;
  const { text, calls } = normalised;
  const messageId = rules.derive("message", request.turnId, String(step));
  // The model had more to say than it may.
  const cutShort = answer.finishReason === "length" ? { metadata: { finish_reason: answer.finishReason } } : {};
  const message: NewFact = {
    case: "assistantMessageCommitted",
    value: { messageId, fullText: text, segmentId: callInFlight(turn).callId, ...cutShort },
  };
  return [
    ...(text.trim() === "" ? [] : [message]),
    ...calls.flatMap((call, index) => planned(request, call, step, index, rules)),
  ];
}

/** Unknown tools are for policy to judge; a known one is called as it wants to be. */
function whatIsWrong({ tool, args }: PlannedCall, toolbox: Toolbox): string | null {
  const parsed = toolbox.find(tool)?.args.safeParse(args);
  return parsed === undefined || parsed.success ? null : `arguments of ${tool}: ${z.prettifyError(parsed.error)}`;
}

function planned(
  { turnId }: TurnRequest,
  call: PlannedCall,
  step: number,
  index: number,
  { toolbox, derive }: TurnRules,
): readonly NewFact[] {
  const tool = toolbox.find(call.tool);
  const toolCallId = derive("tool-call", turnId, String(step), String(index + 1));
  return [
    {
      case: "toolCallPlanned",
      value: {
        toolCallId,
        toolName: call.tool,
        args: call.args as JsonObject, // It was JSON when it came.
        riskClass: tool?.risk ?? RiskClass.RISK_CLASS_UNSPECIFIED,
        identity: identityOf(call),
        step,
        justification: call.justification,
      },
    },
    { case: "policyDecisionMade", value: { toolCallId, ...judge(tool) } },
  ];
}

function identityOf({ identity }: PlannedCall): Identity {
  switch (identity) {
    case "user":
      return Identity.USER;
    case "bot":
      return Identity.BOT;
    case null:
      return Identity.NONE;
  }
}

/** Once more on the same model, then once on the other; then it is too bad. */
function repair(turn: Turn, answer: Answered, reason: string, { hasFallback }: TurnRules): readonly NewFact[] {
  const attempt = turn.repairs.length + 1;
  const isLastOnThis = attempt > 1;
  const canSwitch = hasFallback && turn.choice === "primary";
  if (attempt > 2 || (isLastOnThis && !canSwitch)) {
    return [turnFailed("FAILED_MODEL_OUTPUT", `The model's answer could not be used: ${reason}`, true)];
  }
  const said =
    answer.toolCalls.length === 0 ? answer.text : JSON.stringify({ text: answer.text, calls: answer.toolCalls });
  return [
    {
      case: "modelOutputRepairAttempted",
      value: {
        repairAttempt: attempt,
        fallbackModelUsed: isLastOnThis || turn.choice === "fallback",
        callId: callInFlight(turn).callId,
        reason: withinTokens(reason.toWellFormed(), repairOutputTokensMax),
        output: withinTokens(said.toWellFormed(), repairOutputTokensMax),
      },
    },
  ];
}
