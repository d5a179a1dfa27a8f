import { windowAt, type BudgetWindow } from "../../domain/budgets/index.js";
import type { Instant } from "../../domain/shared/index.js";
import type { TokenUsage } from "../ports/index.js";

export type Reservation =
  { readonly outcome: "reserved" } | { readonly outcome: "exhausted"; readonly resetsAt: Instant };

interface Held {
  readonly from: Instant;
  readonly tokens: number;
}

/**
 * The day's tokens. What a call may cost at most is reserved before it is made, so that two at once cannot spend the same
 * tokens; what it has cost takes the place of that. Only one server runs, so this is where they meet. What is reserved
 * and spent is in the log with each call, and is read from there after a restart.
 */
export class TokenBudget {
  readonly #spent = new Map<Instant, number>();
  readonly #held = new Map<string, Held>();

  constructor(
    readonly tokensPerDay: number,
    private readonly usage: TokenUsage,
  ) {}

  /** Learns what was spent on the day. Whoever reserves has awaited this. */
  async know(at: Instant): Promise<void> {
    const { from, until } = windowAt(at);
    if (this.#spent.has(from)) return;
    const spent = await this.usage.spent(from, until);
    if (this.#spent.has(from)) return; // Somebody else was faster, and something may be reserved already.
    this.#spent.set(from, spent);
  }

  /** The same call asks for the same again: it has it already. */
  reserve(callId: string, tokens: number, at: Instant): Reservation {
    if (this.#held.has(callId)) return { outcome: "reserved" };
    const window = windowAt(at);
    const spent = this.#spentIn(window);
    if (spent + tokens > this.tokensPerDay) return { outcome: "exhausted", resetsAt: window.until };
    this.#spent.set(window.from, spent + tokens);
    this.#held.set(callId, { from: window.from, tokens });
    return { outcome: "reserved" };
  }

  /** What the call has cost. Of a call that nothing is reserved for, because it began before a restart, the log knows. */
  settle(callId: string, tokens: number): void {
    const held = this.#held.get(callId);
    if (held === undefined) return;
    this.#held.delete(callId);
    this.#spent.set(held.from, (this.#spent.get(held.from) ?? 0) - held.tokens + tokens);
  }

  #spentIn({ from }: BudgetWindow): number {
    const spent = this.#spent.get(from);
    if (spent === undefined) throw new Error("nobody has looked what was spent on that day");
    return spent;
  }
}
