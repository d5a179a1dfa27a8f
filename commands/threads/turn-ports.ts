import type { Hash, Toolbox } from "../../domain/approvals/index.js";
import type { Choice } from "../../domain/threads/index.js";
import type { TokenBudget } from "../budgets/token-budget.js";
import type { Handling } from "../handle.js";
import type { Clock, Conversations, Ids, Lookups, Model, Random, Timers } from "../ports/index.js";

/** A model, and what it is called where it is. */
export interface NamedModel {
  readonly model: Model;
  readonly name: string;
}

/** Who is asked, and who is asked when that one does not answer. */
export interface ModelChain {
  readonly primary: NamedModel;
  readonly fallback: NamedModel | null;
}

/** What a turn is carried out with. */
export interface TurnPorts extends Handling {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly conversations: Conversations;
  readonly lookups: Lookups;
  readonly budget: TokenBudget;
  readonly models: ModelChain;
  readonly toolbox: Toolbox;
  readonly hash: Hash;
  /** Of the policy that proposals are judged by. */
  readonly policyVersion: string;
  /** How long the owner has to decide. */
  readonly approvalMillis: number;
  /** Is told what nobody expected, and what the model is not told. */
  readonly onTrouble: (error: unknown, doing: string) => void;
}

/** Which turn, and where. */
export interface TurnPlace {
  readonly threadId: string;
  readonly turnId: string;
}

/** Whoever runs a turn may be told to leave it as it is, or that a newer message came. */
export interface TurnSignals {
  readonly stop: AbortSignal;
  readonly interrupt: AbortSignal;
}

export function modelOf({ primary, fallback }: ModelChain, choice: Choice): NamedModel {
  return choice === "fallback" ? (fallback ?? primary) : primary;
}
