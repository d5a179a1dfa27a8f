import { parametersOf, type OwnerWords, type Toolbox, type UntrustedSource } from "../../domain/approvals/index.js";
import { toTimestamp, type Instant, type NewFact } from "../../domain/shared/index.js";
import {
  outputTokensPerStepMax,
  stepMillisMax,
  turnFailed,
  type Choice,
  type Move,
  type ToolCall,
  type Turn,
  type TurnRequest,
} from "../../domain/threads/index.js";
import type { Conversation, ModelMessage, ModelTool } from "../ports/index.js";
import { promptOf, promptTokens } from "./prompt.js";
import { modelOf, type TurnPorts } from "./turn-ports.js";

/** What a turn is about. It is read once, when the turn is taken up. */
export interface Story {
  readonly conversation: Conversation;
  readonly userText: string;
  /** What the thread has read that others wrote, and what the owner has said. */
  readonly untrusted: readonly UntrustedSource[];
  readonly ownerWords: readonly OwnerWords[];
  /** It has read more than that. */
  readonly isCutOff: boolean;
  /** Around what others wrote. */
  readonly boundary: string;
}

/** A question to a model, as it was recorded. */
export interface Question {
  readonly callId: string;
  readonly choice: Choice;
  /** When the step must be over. */
  readonly stepEndsAt: Instant;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly mayCallTools: boolean;
  /** About what the question costs, without the answer. */
  readonly inputTokens: number;
}

/** What is to be done now that everything before it is in the log. */
export type Errand =
  | { readonly kind: "ask"; readonly request: TurnRequest; readonly question: Question }
  | { readonly kind: "use"; readonly call: ToolCall; readonly stepEndsAt: Instant }
  | { readonly kind: "wait"; readonly until: Instant }
  /** There is nothing to do; the turn is over, or its thread is. */
  | { readonly kind: "none" };

/** Where a turn stands. */
export interface Standing {
  readonly turnId: string;
  readonly request: TurnRequest;
  readonly turn: Turn;
  readonly story: Story;
  readonly at: Instant;
}

type Plan = { readonly facts: readonly NewFact[]; readonly errand: Errand };

/** What a move means in facts, and what is to be done once they are recorded. */
export function planErrand(ports: TurnPorts, standing: Standing, move: Move): Plan {
  switch (move.kind) {
    case "end":
      return { facts: [move.fact], errand: { kind: "none" } };
    case "wait":
      return { facts: [], errand: move };
    case "pause":
      return { facts: [paused(standing, move.actionIds.length)], errand: { kind: "none" } };
    case "use":
      return planUse(ports, standing, move.call);
    case "ask":
      return planQuestion(ports, standing, move);
  }
}

function paused({ turnId, request, turn }: Standing, pendingActionCount: number): NewFact {
  const stepsUsed = turn.steps.length;
  const stepsRemaining = request.budget.maxToolSteps - stepsUsed;
  return { case: "turnPaused", value: { turnId, pendingActionCount, stepsUsed, stepsRemaining } };
}

function planUse(ports: TurnPorts, standing: Standing, call: ToolCall): Plan {
  const stepEndsAt = endOfStep(standing, false);
  // One that was begun before a restart is begun already.
  if (call.executionId !== null) return { facts: [], errand: { kind: "use", call, stepEndsAt } };
  const executionId = executionIdOf(ports, call);
  return {
    facts: [executionStarted(call, executionId)],
    errand: { kind: "use", call: { ...call, executionId }, stepEndsAt },
  };
}

export function executionIdOf({ ids }: TurnPorts, { toolCallId }: ToolCall): string {
  return ids.derive("execution", toolCallId);
}

export function executionStarted({ toolCallId, tool: toolName }: ToolCall, executionId: string): NewFact {
  return { case: "toolExecutionStarted", value: { executionId, toolCallId, toolName } };
}

function planQuestion(ports: TurnPorts, standing: Standing, move: Extract<Move, { kind: "ask" }>): Plan {
  const { turnId, request, turn, story, at } = standing;
  const { choice, step, attempt, isLastStep } = move;
  const callId = ports.ids.derive("model-call", turnId, String(turn.modelCalls + 1));
  const { maxContextMessages: contextMessagesMax } = request.budget;
  const messages = promptOf({ ...story, turn, isLastStep, contextMessagesMax, at });
  const tools = toolsOf(ports.toolbox);
  const inputTokens = promptTokens(messages, tools);
  const reservedTokens = inputTokens + outputTokensPerStepMax;
  const reservation = ports.budget.reserve(callId, reservedTokens, at);
  if (reservation.outcome === "exhausted") return overspent(reservation.resetsAt);
  const stepEndsAt = endOfStep(standing, attempt === 1);
  const { model, name } = modelOf(ports.models, choice);
  const started: NewFact = {
    case: "modelCallStarted",
    value: {
      callId,
      provider: model.provider,
      model: name,
      step,
      attempt,
      fallbackModelUsed: choice === "fallback",
      reservedTokens: BigInt(reservedTokens),
      stepEndsAt: toTimestamp(stepEndsAt),
      purpose: "turn",
    },
  };
  const question = { callId, choice, stepEndsAt, messages, tools, mayCallTools: !isLastStep, inputTokens };
  return { facts: [started], errand: { kind: "ask", request, question } };
}

function endOfStep({ turn, at }: Standing, isNewStep: boolean): Instant {
  return isNewStep || turn.stepEndsAt === null ? at + stepMillisMax : turn.stepEndsAt;
}

function overspent(resetsAt: Instant): Plan {
  const failed = turnFailed("DAILY_TOKEN_BUDGET_EXCEEDED", true, resetsAt);
  return { facts: [failed], errand: { kind: "none" } };
}

/** The same for every question, and not cheap to write down. */
const offered = new WeakMap<Toolbox, readonly ModelTool[]>();

function toolsOf(toolbox: Toolbox): readonly ModelTool[] {
  const known = offered.get(toolbox);
  if (known !== undefined) return known;
  const tools = toolbox.all.map((tool) => {
    return { name: tool.name, description: tool.description, parameters: parametersOf(tool) };
  });
  offered.set(toolbox, tools);
  return tools;
}
