export { conclude, leftOut } from "./conclude.js";
export { commitMessage, messageTextBytesMax, type MessageDraft } from "./message.js";
export { callsPerStepMax, normalise } from "./model-output.js";
export { nextMove, type Move } from "./next-move.js";
export type { Answered, Outcome, ToolFinished, Trouble, TurnRules, Unanswered } from "./outcome.js";
export { createThread, deleteThread, evolveThread, initialThread, titleThread, type Thread } from "./thread.js";
export { ThinkingGist } from "./thinking.js";
export { titleOf } from "./title.js";
export {
  evolveTurn,
  initialTurn,
  stepMillisMax,
  type Choice,
  type LossReason,
  type Repair,
  type Step,
  type ToolCall,
  type Turn,
} from "./turn.js";
export { retryMillisMax } from "./try-again.js";
export { effectiveBudget, outputTokensPerStepMax, turnBudgetBounds, type TurnBudget } from "./turn-budget.js";
export { turnFailed, turnFailures } from "./turn-end.js";
export {
  endTurn,
  evolveTurnQueue,
  initialTurnQueue,
  startTurn,
  turnsWaitingMax,
  type TurnQueue,
  type TurnRequest,
} from "./turn-queue.js";
export { fenced, withoutRemoteImages } from "./untrusted.js";
