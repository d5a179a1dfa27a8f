export {
  abandon,
  approve,
  cancel,
  conflict,
  evolveAction,
  expire,
  initialAction,
  isSame,
  keyConflict,
  reject,
  revisionsMax,
  supersede,
  type Action,
} from "./action.js";
export type { ActionPlan } from "./action-plan.js";
export type { CallSubject, Hash, OwnerWords, UntrustedSource } from "./card-context.js";
export { renderCard } from "./card.js";
export {
  giveUp,
  intend,
  isTooLate,
  leaseAfter,
  leaseMillisLeft,
  leaseMillisOf,
  resolve,
  settle,
  type Effect,
  type SettledBy,
} from "./execution.js";
export { policySummary } from "./summary.js";
export { judge, policyRules, proposalsPerTurnMax, type ActionSource, type PolicyRule, type Ruling } from "./policy.js";
export { bindingOf, proposalOf, propose, type Circumstances, type Wish } from "./propose.js";
export { rejectionCodeOf } from "./rejection.js";
export { settledArgs } from "./settled-args.js";
export {
  defaultToolLimits,
  limitsOf,
  parametersOf,
  tool,
  Toolbox,
  type ActingTool,
  type Intent,
  type ReadingTool,
  type Tool,
  type ToolLimits,
  type ToolResult,
} from "./tool.js";
export type { JsonObject } from "@bufbuild/protobuf";
