import { ModelError, type ModelTrouble } from "../../commands/ports/model.js";
import { keyWatch } from "./key-watch.js";
import { retryAfterMillis, type RetryHeaders } from "./retry-after.js";
import type { Awaited } from "./timeouts.js";

/** Of what a provider says about its failure, the owner is shown so much. */
const wordsCharsMax = 300;

const missed: Readonly<Record<Awaited, string>> = {
  connect: "could not be connected to within",
  firstByte: "sent no first byte within",
  idle: "went idle inside its answer, for more than",
  total: "did not come to the end of its answer within a total of",
};

/** A provider's failures, told in our words. An error of a library or of Node is never kept: who knows what it holds. */
export interface Failures {
  tell(trouble: ModelTrouble, what: string): ModelError;
  late(awaited: Awaited, millisMax: number): ModelError;
  ofStatus(status: number, words: string, headers: RetryHeaders): ModelError;
  /** The answer held an error instead of its next piece. */
  ofErrorInStream(error: unknown): ModelError;
  /** The connection failed, or what came over it is not HTTP. */
  ofConnection(error: Error & { code?: unknown }, hasBegun: boolean): ModelError;
}

export function failuresOf(provider: string, apiKey: string): Failures {
  const holdsKey = keyWatch(apiKey);
  const tell = (trouble: ModelTrouble, what: string, retry: number | null = null) =>
    new ModelError(trouble, `${provider} ${what}`, retry);
  const quote = (words: string) => (words === "" || holdsKey(words) ? "" : `: ${printable(words)}`);

  return {
    tell,
    late: (awaited, millisMax) => tell("timeout", `${missed[awaited]} ${millisMax} ms`),
    ofStatus: (status, words, headers) =>
      tell(troubleOf(status), `answered with status ${status}${quote(words)}`, retryAfterMillis(headers)),
    ofErrorInStream: (error) => {
      const { status, words } = errorIn(error);
      return tell(status === null ? "unavailable" : troubleOf(status), `broke off with an error${quote(words)}`);
    },
    ofConnection: ({ code }, hasBegun) => {
      const name = typeof code === "string" ? code : "no reason given";
      if (name === "ERR_INVALID_CHAR") return tell("unauthorized", "has a key that no HTTP header can hold");
      if (name.startsWith("HPE_")) return tell("malformed", `answered with something that is not HTTP (${name})`);
      if (hasBegun) return tell("cut", `was cut off inside its answer (${name})`);
      return tell(name === "ETIMEDOUT" ? "timeout" : "unavailable", `could not be reached (${name})`);
    },
  };
}

/** What the body of a failure says, if it is one of the usual shapes. */
export function wordsIn(body: string): string {
  try {
    const { error, message } = Object(JSON.parse(body)) as { error?: unknown; message?: unknown };
    return errorIn(error ?? { message }).words;
  } catch {
    return ""; // A page of HTML helps nobody.
  }
}

function errorIn(error: unknown): { status: number | null; words: string } {
  if (typeof error === "string") return { status: null, words: error };
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const status = Number(typeof code === "string" || typeof code === "number" ? code : NaN);
  return {
    status: Number.isInteger(status) && status >= 400 && status <= 599 ? status : null,
    words: typeof message === "string" ? message : "",
  };
}

/** One of 403 knows the key, and will not have this request, such as one that its moderation has flagged. */
function troubleOf(status: number): ModelTrouble {
  if (status >= 500) return "unavailable";
  switch (status) {
    case 401:
      return "unauthorized";
    case 402:
      return "payment_required";
    case 408:
      return "timeout";
    case 429:
      return "rate_limited";
    default:
      return status >= 300 ? "rejected" : "malformed";
  }
}

/** One line, without anything that moves a terminal's cursor or turns its text around. */
function printable(words: string): string {
  const line = words
    .slice(0, wordsCharsMax)
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .trim();
  return words.length > wordsCharsMax ? `${line}…` : line;
}
