import { z } from "zod";
import type { ModelUsage } from "../../commands/ports/model.js";

/** No model reads or writes as much in one call; whoever says so has miscounted. */
const tokensMax = 10_000_000;

const tokens = z.number().int().min(0).max(tokensMax);

const usage = z.object({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  prompt_tokens_details: z.object({ cached_tokens: tokens.nullish() }).nullish(),
});

/** What the provider counted; null if it did not count, or counted what cannot be. */
export function usageOf(reported: unknown): ModelUsage | null {
  const { data } = usage.safeParse(reported);
  if (data === undefined) return null;
  const cachedInputTokens = data.prompt_tokens_details?.cached_tokens ?? 0;
  if (cachedInputTokens > data.prompt_tokens) return null;
  return { inputTokens: data.prompt_tokens, outputTokens: data.completion_tokens, cachedInputTokens };
}
