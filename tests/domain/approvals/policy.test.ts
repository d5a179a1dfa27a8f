import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { judge, tool, type Tool } from "../../../domain/approvals/index.js";
import { artifactPut, notesWrite } from "../../../domain/memory/index.js";
import { PolicyDecision, RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";

const { READ, WRITE, EXFILTRATION, DESTRUCTIVE, HIGH, RISK_CLASS_UNSPECIFIED } = RiskClass;
const risks = [READ, WRITE, EXFILTRATION, DESTRUCTIVE, HIGH, RISK_CLASS_UNSPECIFIED];
const identities = ["none", "user_or_bot", "bot"] as const;

const spec = { name: "a_tool", version: 1, description: "", args: z.strictObject({}), identity: "none" } as const;

function internal(risk: RiskClass, identity: (typeof identities)[number] = "none"): Tool {
  const record = () => ({ facts: [], text: "" });
  return tool({ ...spec, risk, identity, destination: "internal", record });
}

function external(risk: RiskClass, identity: (typeof identities)[number] = "none", isResultUntrusted = true): Tool {
  const execute = async () => ({ text: "", isFailure: false, origin: "" });
  return tool({ ...spec, risk, identity, destination: "external", isResultUntrusted, execute });
}

describe("policy", () => {
  test("blocks what is not known", () => {
    expect(judge(null)).toEqual({ policyId: "tool.known", decision: PolicyDecision.BLOCKED, reason: "unknown_tool" });
  });

  test("lets a tool run that only reads", () => {
    const ruling = { policyId: "read.autonomous", decision: PolicyDecision.ALLOW_INTERNAL, reason: "read" };
    expect(judge(external(READ))).toEqual(ruling);
  });

  test.each(risks)("lets a tool run that acts on our own log only, at risk %s", (risk) => {
    const ruling = { policyId: "internal.autonomous", decision: PolicyDecision.ALLOW_INTERNAL, reason: "internal" };
    expect(judge(internal(risk))).toEqual(ruling);
  });

  test.each(risks.filter((risk) => risk !== READ))("asks the owner about all else, at risk %s", (risk) => {
    const decision = PolicyDecision.REQUIRE_APPROVAL;
    expect(judge(external(risk))).toEqual({ policyId: "external.approved", decision, reason: "requires_approval" });
  });

  test("lets nothing reach out by itself but to read, as whomever and whatever comes back", () => {
    for (const risk of risks) {
      for (const identity of identities) {
        for (const isUntrusted of [true, false]) {
          const { decision } = judge(external(risk, identity, isUntrusted));
          expect(decision === PolicyDecision.ALLOW_INTERNAL).toBe(risk === READ);
        }
      }
    }
  });

  test.each([notesWrite, artifactPut])("lets $name run", (one) => {
    expect(judge(one).decision).toBe(PolicyDecision.ALLOW_INTERNAL);
  });
});
