import type { NewFact } from "../shared/index.js";

/** An answered call, and what it has cost. */
export interface FinishedCall {
  readonly provider: string;
  readonly model: string;
  readonly finishReason: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  /** The provider did not count. */
  readonly isEstimated: boolean;
}

export interface FailedCall {
  readonly provider: string;
  readonly model: string;
  readonly trouble: string;
  readonly message: string;
  readonly chargedTokens: number;
}

/** `unusableReason` is why the answer could not be used; empty if it could. */
export function callFinished(callId: string, call: FinishedCall, unusableReason = ""): NewFact {
  return {
    case: "modelCallFinished",
    value: {
      callId,
      provider: call.provider,
      model: call.model,
      finishReason: call.finishReason,
      inputTokens: BigInt(call.inputTokens),
      outputTokens: BigInt(call.outputTokens),
      cachedInputTokens: BigInt(call.cachedInputTokens),
      estimated: call.isEstimated,
      unusableReason,
    },
  };
}

export function callFailed(callId: string, call: FailedCall): NewFact {
  const { provider, model, trouble: reason, message, chargedTokens } = call;
  return {
    case: "modelCallFailed",
    value: { callId, provider, model, reason, message: message.toWellFormed(), chargedTokens: BigInt(chargedTokens) },
  };
}
