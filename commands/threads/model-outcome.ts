import { estimateTokens } from "../../domain/budgets/index.js";
import type { Answered, Trouble, Unanswered } from "../../domain/threads/index.js";
import type { ModelAnswer, Random } from "../ports/index.js";
import type { NamedModel } from "./turn-ports.js";

/** Nothing came back that anybody paid for. */
const free: readonly Trouble[] = ["unauthorized", "payment_required", "rejected", "rate_limited", "unavailable"];

/** An answer as the domain sees it. What the provider has not counted is estimated. */
export function answered({ model, name }: NamedModel, answer: ModelAnswer, inputTokens: number): Answered {
  const { text, thinking, toolCalls, finishReason, usage } = answer;
  const estimate = () => ({
    inputTokens,
    outputTokens: estimateTokens(text + thinking + toolCalls.map((call) => call.argumentsJson).join("")),
    cachedInputTokens: 0,
  });
  return {
    kind: "answered",
    text,
    toolCalls,
    finishReason,
    provider: model.provider,
    model: name,
    isEstimated: usage === null,
    ...(usage ?? estimate()),
  };
}

/** Why there is none, for reasons of the model's or the owner's. */
export interface WhyNot {
  readonly trouble: Trouble;
  readonly message: string;
  readonly retryAfterMillis: number | null;
}

export const interrupted: WhyNot = { trouble: "interrupted", message: "A newer message came.", retryAfterMillis: null };

export function unanswered(
  { model, name }: NamedModel,
  { trouble, message, retryAfterMillis }: WhyNot,
  tokensSoFar: number,
  random: Random,
): Unanswered {
  return {
    kind: "unanswered",
    provider: model.provider,
    model: name,
    trouble,
    message,
    chargedTokens: free.includes(trouble) ? 0 : tokensSoFar,
    retryAfterMillis,
    jitter: random.fraction(),
  };
}

/** What a call takes of the budget. */
export function costOf(outcome: Answered | Unanswered): number {
  return outcome.kind === "answered" ? outcome.inputTokens + outcome.outputTokens : outcome.chargedTokens;
}
