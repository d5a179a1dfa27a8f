import { estimateTokens } from "../../domain/budgets/index.js";
import type { Answered, Trouble, Unanswered } from "../../domain/threads/index.js";
import type { ModelAnswer, Random } from "../ports/index.js";
import type { NamedModel } from "./turn-ports.js";

/** Who fails like this before the first word has asked nobody to pay for it. */
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

/** What a question has cost when it fails, as far as anybody knows. */
interface TokensSoFar {
  readonly inputTokens: number;
  /** About what came of the answer: text, thinking, and arguments of calls. */
  readonly outputTokens: number;
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
  { inputTokens, outputTokens }: TokensSoFar,
  random: Random,
): Unanswered {
  return {
    kind: "unanswered",
    provider: model.provider,
    model: name,
    trouble,
    message,
    chargedTokens: outputTokens === 0 && free.includes(trouble) ? 0 : inputTokens + outputTokens,
    retryAfterMillis,
    jitter: random.fraction(),
  };
}

/** What a call takes of the budget. */
export function costOf(outcome: Answered | Unanswered): number {
  return outcome.kind === "answered" ? outcome.inputTokens + outcome.outputTokens : outcome.chargedTokens;
}
