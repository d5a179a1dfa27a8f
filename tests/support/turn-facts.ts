import type { NewFact } from "../../domain/shared/index.js";
import { TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";

const asked = (turnId: string) => ({ turnId, userMessageId: `ask ${turnId}`, triggerType: TriggerType.CHAT_MESSAGE });

export function turnQueued(turnId: string): NewFact {
  return { case: "turnQueued", value: asked(turnId) };
}

export function turnStarted(turnId: string): NewFact {
  return { case: "turnStarted", value: asked(turnId) };
}

export function turnPaused(turnId: string): NewFact {
  return { case: "turnPaused", value: { turnId, pendingActionCount: 1 } };
}

export function turnResumed(turnId: string): NewFact {
  return { case: "turnResumed", value: { turnId, resumedReason: "actions_settled" } };
}

export function turnCompleted(assistantMessageId: string): NewFact {
  return { case: "turnCompleted", value: { assistantMessageId } };
}

export function turnFailed(code: string): NewFact {
  return { case: "turnFailed", value: { code, message: `because of ${code}` } };
}

export function callStarted(callId: string, reservedTokens = 1_000): NewFact {
  const asking = { purpose: "turn", provider: "provider-1", model: "model-1", step: 2, attempt: 1 };
  return { case: "modelCallStarted", value: { callId, ...asking, reservedTokens: BigInt(reservedTokens) } };
}

export function callFinished(callId: string, inputTokens = 70, outputTokens = 7): NewFact {
  const tokens = { inputTokens: BigInt(inputTokens), outputTokens: BigInt(outputTokens), cachedInputTokens: 5n };
  return { case: "modelCallFinished", value: { callId, ...tokens } };
}

export function callFailed(callId: string, chargedTokens = 30): NewFact {
  return { case: "modelCallFailed", value: { callId, reason: "timeout", chargedTokens: BigInt(chargedTokens) } };
}

export function summaryWritten(summaryId: string, text = summaryId): NewFact {
  const made = { turnIds: ["a", "b"], throughPosition: 9n, tokenEstimate: 12n };
  return { case: "summaryWritten", value: { summaryId, text, ...made } };
}

export function noteWritten(noteId: string, text: string): NewFact {
  return { case: "noteWritten", value: { noteId, title: `on ${noteId}`, text } };
}

/** In the thread of its event, unless another is given. */
export function artifactCreated(artifactId: string, content: string, threadId = ""): NewFact {
  const value = { artifactId, threadId, mediaType: "text/plain", title: `on ${artifactId}` };
  return { case: "artifactCreated", value: { ...value, content: new TextEncoder().encode(content) } };
}
