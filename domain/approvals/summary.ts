import type { JsonObject } from "@bufbuild/protobuf";
import { RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { PolicyRule } from "./policy.js";
import { proposalsPerTurnMax } from "./policy.js";
import { limitsOf, parametersOf, type Tool } from "./tool.js";

/** What binds an action besides the rules and the tools. */
export interface PolicyLimits {
  readonly approvalHours: number;
  readonly actionsPerBundleMax: number;
}

/** What is said before and after all rules. */
const first = { id: "tool.known", says: "A tool that there is not is not used." };
const last = { id: "default", says: "What no rule allows is blocked, and so is everything if a rule breaks." };

/**
 * Everything that decides what may be done, in one value. Its hash is the version of the policy, and an approval is good for
 * one version: so nothing belongs here that could change without touching what was approved.
 */
export function policySummary(rules: readonly PolicyRule[], tools: readonly Tool[], limits: PolicyLimits): JsonObject {
  return {
    rules: [first, ...rules, last].map(({ id, says }) => ({ id, says })),
    tools: tools.map(toolSummary),
    limits: {
      approval_hours: limits.approvalHours,
      actions_per_bundle_max: limits.actionsPerBundleMax,
      proposals_per_turn_max: proposalsPerTurnMax,
    },
  };
}

function toolSummary(tool: Tool): JsonObject {
  const { name, version, risk, identity, kind, destination } = tool;
  return {
    ...{ name, version, risk: RiskClass[risk], identity, kind, destination },
    is_result_untrusted: tool.kind !== "internal" && tool.isResultUntrusted,
    arguments: parametersOf(tool) as JsonObject, // A JSON schema is JSON.
    ...(tool.kind === "acting" ? { undo_seconds: tool.undoSeconds, limits: executionLimits(tool) } : {}),
  };
}

function executionLimits(tool: Extract<Tool, { kind: "acting" }>): JsonObject {
  const { attemptMillisMax, attemptsMax, atOnceMax, resultTokensMax } = limitsOf(tool);
  return {
    attempt_millis_max: attemptMillisMax,
    attempts_max: attemptsMax,
    at_once_max: atOnceMax,
    result_tokens_max: resultTokensMax,
  };
}
