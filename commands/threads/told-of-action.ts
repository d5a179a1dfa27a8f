import type { Action, ActionPlan } from "../../domain/approvals/index.js";
import { estimateTokens, withinTokens } from "../../domain/budgets/index.js";
import type { NewFact } from "../../domain/shared/index.js";
import { leftOut, type ToolCall } from "../../domain/threads/index.js";

type Rejected = Extract<Action, { status: "rejected" }>;

interface Words {
  readonly text: string;
  readonly isUntrusted: boolean;
  readonly origin: string;
}

const noWords: Words = { text: "", isUntrusted: false, origin: "" };
const forgotten = "It was forgotten; nothing was done.";
const unclear = "Nobody knows whether it was done. The owner is asked. Do not propose it again.";

/** What the model is told of what became of an action that it has proposed; null while that is not settled. */
export function toldOf(call: ToolCall, action: Action, tokensMax: number): NewFact | null {
  switch (action.status) {
    case "none":
      return failed(call, forgotten);
    case "pending":
      return isForgotten(action) ? failed(call, forgotten) : null;
    case "rejected":
      // Whoever has taken its place was not reached.
      return action.supersededBy === "" ? rejected(call, action, tokensMax) : null;
    case "executed": {
      const { plan, result } = action;
      const edit = plan.revision > 1 ? ` The owner had changed it: ${JSON.stringify(plan.args)}.` : "";
      const edited = cut(edit, Math.floor(tokensMax / 2));
      const text = cut(result.text, Math.max(0, tokensMax - estimateTokens(edited.text)));
      const whole = `It was done.${edited.text}\n${text.text}`.trim();
      const truncated = edited.isCut || text.isCut;
      return finished(call, whole, { failed: false, truncated, untrusted: result.isUntrusted, origin: result.origin });
    }
    case "approved":
      switch (action.execution.state) {
        case "due":
          return isForgotten(action) ? failed(call, forgotten) : null;
        case "intended":
          return isForgotten(action) ? failed(call, unclear) : null;
        case "done": // Its status follows in the same breath.
          return null;
        case "unknown":
          return failed(call, unclear);
        case "failed":
          return failed(call, "The owner approved it, but it was not done:", action.execution.why, tokensMax);
      }
  }
}

/** Its proposal was erased: nobody can decide it or carry it out any more. */
function isForgotten({ plan }: { readonly plan: ActionPlan }): boolean {
  return plan.actionId === "";
}

/** The code says who rejected it: an owner may write anything as their reason. */
function rejected(call: ToolCall, { code, reason: text }: Rejected, tokensMax: number): NewFact {
  switch (code) {
    case "expired":
      return failed(call, "Nobody approved it in time. Nothing was done.");
    case "cancelled":
      return failed(call, "The owner took the approval back. Nothing was done.");
    case "thread_deleted":
      return failed(call, "Its thread was deleted. Nothing was done.");
    case "idempotency_conflict":
      return failed(call, "Its key was used for something else before. Nothing was done.");
    case "erased":
      return failed(call, "What was decided about it was forgotten. Do not propose it again.");
    default: {
      const sentence = "The owner rejected it. Nothing was done.";
      return text === ""
        ? failed(call, sentence)
        : failed(call, `${sentence} Their reason:`, { ...noWords, text }, tokensMax);
    }
  }
}

/** Our own sentence is told whatever is left; the words of others as far as there is room for them. */
function failed(call: ToolCall, sentence: string, words: Words = noWords, tokensMax = 0): NewFact {
  const { text, isCut: truncated } = cut(words.text, tokensMax);
  const { isUntrusted: untrusted, origin } = words;
  return finished(call, `${sentence} ${text}`.trim(), { failed: true, truncated, untrusted, origin });
}

function cut(whole: string, tokensMax: number): { readonly text: string; readonly isCut: boolean } {
  const text = withinTokens(whole, tokensMax);
  const isCut = text.length < whole.length;
  return { text: isCut ? `${text}${leftOut}` : text, isCut };
}

function finished(
  { toolCallId, tool: toolName }: ToolCall,
  result: string,
  how: {
    readonly failed: boolean;
    readonly truncated: boolean;
    readonly untrusted: boolean;
    readonly origin: string;
  },
): NewFact {
  const exitCode = how.failed ? 1 : 0;
  return { case: "toolExecutionFinished", value: { toolCallId, toolName, result, exitCode, ...how } };
}
