export { explain, type ExplainedStep } from "./explain.js";
