import type { JsonObject } from "@bufbuild/protobuf";
import { RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { PolicyRule } from "./policy.js";
import { proposalsPerTurnMax } from "./policy.js";
import type { Tool } from "./tool.js";

/** What is in force besides the rules. */
export interface PolicyLimits {
  readonly approvalHours: number;
  readonly tokensPerDay: number;
  readonly allowsRawReasoning: boolean;
}

/** What is said before and after all rules. */
const first = { id: "tool.known", says: "A tool that there is not is not used." };
const last = { id: "default", says: "What no rule allows is blocked, and so is everything if a rule breaks." };

/** Everything that decides what may be done, in one value. Its hash is the version of the policy. */
export function policySummary(rules: readonly PolicyRule[], tools: readonly Tool[], limits: PolicyLimits): JsonObject {
  return {
    rules: [first, ...rules, last].map(({ id, says }) => ({ id, says })),
    tools: tools.map(({ name, version, risk, identity, kind, destination }) => {
      return { name, version, risk: RiskClass[risk], identity, kind, destination };
    }),
    limits: { ...limits, proposals_per_turn: proposalsPerTurnMax },
  };
}
