import { day, type Instant } from "../shared/index.js";

const encoder = new TextEncoder();
/** Fewer than in most texts, so that an estimate is rather too high. */
const bytesPerToken = 3;

/** About how many tokens a text is. Every model counts in its own way; this is for deciding before it has counted. */
export function estimateTokens(text: string): number {
  return Math.ceil(encoder.encode(text).length / bytesPerToken);
}

/** What of a text is at most so many tokens, by the same estimate, cut between characters. */
export function withinTokens(text: string, tokensMax: number): string {
  const bytes = encoder.encode(text);
  if (bytes.length <= tokensMax * bytesPerToken) return text;
  let end = tokensMax * bytesPerToken;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--; // In the middle of a character.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, end));
}

/** A day's tokens are counted from midnight to midnight, UTC. */
export interface BudgetWindow {
  readonly from: Instant;
  /** When the next one begins. */
  readonly until: Instant;
}

export function windowAt(at: Instant): BudgetWindow {
  const from = Math.floor(at / day) * day;
  return { from, until: from + day };
}
