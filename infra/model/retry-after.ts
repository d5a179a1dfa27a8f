/** A provider that wants to be left alone for longer is asked again all the same. */
const retryAfterMillisMax = 60 * 60_000;

export interface RetryHeaders {
  readonly "retry-after"?: string | undefined;
  readonly date?: string | undefined;
}

/** How long the provider wants to be left alone, given in seconds or as a date; null if it did not say. */
export function retryAfterMillis(headers: RetryHeaders): number | null {
  const text = headers["retry-after"]?.trim() ?? "";
  const isDate = /^[A-Z][a-z]+,? .* GMT$/.test(text); // Date.parse alone finds a date in "-5".
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  const millis = isDate ? Date.parse(text) - nowOf(headers) : seconds * 1_000;
  return Number.isNaN(millis) ? null : Math.min(Math.max(0, Math.ceil(millis)), retryAfterMillisMax);
}

/** By the provider's clock if it shows it: ours may be wrong. */
function nowOf({ date }: RetryHeaders): number {
  const now = Date.parse(date ?? "");
  return Number.isNaN(now) ? Date.now() : now;
}
