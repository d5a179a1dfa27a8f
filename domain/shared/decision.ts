import type { NewFact } from "./event.js";
import type { RefusalCode } from "./refusals.js";

/** What a decision answers: facts to record (none when it is a repeat), or a refusal. */
export type Decision = Accepted | Refusal;

export interface Accepted {
  readonly outcome: "accepted";
  readonly facts: readonly NewFact[];
}

export interface Refusal {
  readonly outcome: "refused";
  readonly code: RefusalCode;
  /** What the caller may know about it; shown to clients. */
  readonly facts: Readonly<Record<string, string | number>>;
}

/** A repeat is not news. */
export const nothing: Accepted = { outcome: "accepted", facts: [] };

export function accept(...facts: readonly NewFact[]): Accepted {
  return { outcome: "accepted", facts };
}

export function refuse(code: RefusalCode, facts: Refusal["facts"] = {}): Refusal {
  return { outcome: "refused", code, facts };
}
