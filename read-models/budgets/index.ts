export { listOpenCalls, modelCalls, tokensSpent, type ModelCallRow } from "./model-calls.js";
