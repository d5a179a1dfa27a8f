import { PolicyDecision, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { Tool } from "./tool.js";

/** What may be done about a call, by which rule, and why. */
export interface Ruling {
  readonly policyId: string;
  readonly decision: PolicyDecision;
  readonly reason: string;
}

/** Decides about one call. Whatever no rule allows is blocked. */
export function judge(tool: Tool | null): Ruling {
  if (tool === null) return ruling("tool.known", PolicyDecision.BLOCKED, "unknown_tool");
  if (tool.destination === "internal") return ruling("internal.autonomous", PolicyDecision.ALLOW_INTERNAL, "internal");
  if (tool.risk === RiskClass.READ) return ruling("read.autonomous", PolicyDecision.ALLOW_INTERNAL, "read");
  return ruling("external.approved", PolicyDecision.REQUIRE_APPROVAL, "requires_approval");
}

function ruling(policyId: string, decision: PolicyDecision, reason: string): Ruling {
  return { policyId, decision, reason };
}
