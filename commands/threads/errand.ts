import { parametersOf, type Toolbox } from "../../domain/approvals/index.js";
import { minute, toText, toTimestamp, type Instant, type NewFact } from "../../domain/shared/index.js";
import {
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

/** How long one step may take: asking, asking again, and using tools. */
export const stepMillisMax = minute;
/** What a model may say in one step. */
export const outputTokensMax = 8_192;

/** What a turn is about. It is read once, when the turn is taken up. */
export interface Story {
  readonly conversation: Conversation;
  readonly userText: string;
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
  /** The time of a step counts anew. */
  readonly isFresh: boolean;
}

type Plan = { readonly facts: readonly NewFact[]; readonly errand: Errand };

/** What a move means in facts, and what is to be done once they are recorded. */
export function planErrand(ports: TurnPorts, standing: Standing, move: Move): Plan {
  switch (move.kind) {
    case "end":
      return { facts: [move.fact], errand: { kind: "none" } };
    case "wait":
      return { facts: [], errand: move };
    case "use":
      return planUse(ports, standing, move.call);
    case "ask":
      return planQuestion(ports, standing, move);
  }
}

function planUse({ ids }: TurnPorts, standing: Standing, call: ToolCall): Plan {
  const stepEndsAt = endOfStep(standing, false);
  // One that was begun before a restart is begun already.
  if (call.executionId !== null) return { facts: [], errand: { kind: "use", call, stepEndsAt } };
  const executionId = ids.derive("execution", call.toolCallId);
  const value = { executionId, toolCallId: call.toolCallId, toolName: call.tool };
  return {
    facts: [{ case: "toolExecutionStarted", value }],
    errand: { kind: "use", call: { ...call, executionId }, stepEndsAt },
  };
}

function planQuestion(ports: TurnPorts, standing: Standing, move: Extract<Move, { kind: "ask" }>): Plan {
  const { turnId, request, turn, story, at } = standing;
  const { choice, step, attempt, isLastStep } = move;
  const callId = ports.ids.derive("model-call", turnId, String(turn.modelCalls + 1));
  const { maxContextMessages: contextMessagesMax } = request.budget;
  const messages = promptOf({ ...story, turn, isLastStep, contextMessagesMax, at });
  const tools = isLastStep ? [] : toolsOf(ports.toolbox);
  const inputTokens = promptTokens(messages, tools);
  const reservedTokens = inputTokens + outputTokensMax;
  const reservation = ports.budget.reserve(callId, reservedTokens, at);
  if (reservation.outcome === "exhausted") return overspent(ports, reservation.resetsAt);
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
  const question = { callId, choice, stepEndsAt, messages, tools, inputTokens };
  return { facts: [started], errand: { kind: "ask", request, question } };
}

function endOfStep({ turn, at, isFresh }: Standing, isNewStep: boolean): Instant {
  return isNewStep || isFresh || turn.stepEndsAt === null ? at + stepMillisMax : turn.stepEndsAt;
}

function overspent({ budget }: TurnPorts, resetsAt: Instant): Plan {
  const message = `The budget of ${budget.tokensPerDay} tokens a day is spent; it is renewed at ${toText(resetsAt)}.`;
  const failed = turnFailed("DAILY_TOKEN_BUDGET_EXCEEDED", message, true, resetsAt);
  return { facts: [failed], errand: { kind: "none" } };
}

function toolsOf(toolbox: Toolbox): readonly ModelTool[] {
  return toolbox.all.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parameters: parametersOf(tool),
  }));
}
