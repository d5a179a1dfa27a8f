export { callFailed, callFinished, type FailedCall, type FinishedCall } from "./model-call.js";
export { estimateTokens, windowAt, withinTokens, type BudgetWindow } from "./tokens.js";
