/** A call the model wants made. Its arguments are what it wrote, and may be no JSON at all. */
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  readonly argumentsJson: string;
}

/** One message of what a model is shown. */
export type ModelMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly toolCalls: readonly ModelToolCall[] }
  | { readonly role: "tool"; readonly toolCallId: string; readonly content: string };

/** A tool as the model knows it; its parameters are a JSON schema. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  /** Also what was called before, and may not be called now: a provider must know what the messages speak of. */
  readonly tools: readonly ModelTool[];
  readonly mayCallTools: boolean;
  readonly outputTokensMax: number;
}

/** A piece of an answer, as it comes. Arguments of calls come for whoever counts; they are used once they are whole. */
export interface ModelDelta {
  readonly kind: "text" | "thinking" | "arguments";
  readonly text: string;
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of the input that the provider had seen before. */
  readonly cachedInputTokens: number;
}

export interface ModelAnswer {
  /** All text deltas, one after the other. */
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** "stop", "length", "tool_calls", "content_filter", or whatever the provider calls it. */
  readonly finishReason: string;
  /** null if the provider did not say, or said something that cannot be. */
  readonly usage: ModelUsage | null;
}

export type ModelTrouble =
  "unauthorized" | "payment_required" | "rejected" | "rate_limited" | "unavailable" | "timeout" | "cut" | "malformed";

/** Why there is no answer. Its message may be shown to the owner: no key and no header is in it. */
export class ModelError extends Error {
  override readonly name = "ModelError";

  constructor(
    readonly trouble: ModelTrouble,
    message: string,
    /** How long the provider wants to be left alone; null if it did not say. */
    readonly retryAfterMillis: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Whether the same question may be answered later. */
  get isPassing(): boolean {
    return ["rate_limited", "unavailable", "timeout", "cut", "malformed"].includes(this.trouble);
  }
}

export interface Model {
  /** Who answers, for the record. */
  readonly provider: string;

  /**
   * Asks once; whether to ask again is the caller's business. Pieces come as they arrive, in order. It resolves with the
   * whole answer, or rejects with a `ModelError`; with the signal's reason if that was aborted.
   */
  ask(request: ModelRequest, onDelta: (delta: ModelDelta) => void, signal: AbortSignal): Promise<ModelAnswer>;
}
