export { explain, type ExplainedStep } from "./explain.js";
export { changePolicy, evolvePolicyVersion, initialPolicyVersion } from "./policy-version.js";
