import type { Circumstances, Toolbox } from "../approvals/index.js";
import type { FailedCall, FinishedCall } from "../budgets/index.js";
import type { NewFact } from "../shared/index.js";
import type { ModelOutput } from "./model-output.js";
import type { LossReason, ToolCall } from "./turn.js";

/** What came of the thing that a turn was waiting for. */
export type Outcome =
  /** Nothing stands in its way. */
  | { readonly kind: "ready" }
  /** Whoever was at it is gone, and somebody takes it up again. */
  | { readonly kind: "lost"; readonly why: LossReason }
  | Answered
  | Unanswered
  | ToolFinished;

export interface Answered extends ModelOutput, FinishedCall {
  readonly kind: "answered";
}

export interface Unanswered extends FailedCall {
  readonly kind: "unanswered";
  readonly trouble: Trouble;
  /** How long the provider wants to be left alone. */
  readonly retryAfterMillis: number | null;
  /** From 0 to 1: whoever failed together shall not come again together. */
  readonly jitter: number;
}

export type Trouble =
  | "unauthorized"
  | "payment_required"
  | "rejected"
  | "rate_limited"
  | "unavailable"
  | "timeout"
  | "cut"
  | "malformed"
  | "interrupted";

export interface ToolFinished {
  readonly kind: "tool_finished";
  readonly call: ToolCall;
  readonly text: string;
  readonly isFailure: boolean;
  readonly isUntrusted: boolean;
  readonly origin: string;
  readonly isTimeout: boolean;
  readonly durationMillis: number;
  /** What an internal tool has done. */
  readonly facts: readonly NewFact[];
}

/** What a turn is decided with. */
export interface TurnRules {
  readonly toolbox: Toolbox;
  readonly hasFallback: boolean;
  /** What an action would be proposed in. */
  readonly circumstances: Circumstances;
  /** The same id for the same parts, always. */
  readonly derive: (...parts: readonly string[]) => string;
}
