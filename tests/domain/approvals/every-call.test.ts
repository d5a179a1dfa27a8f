import { expect, test } from "@jest/globals";
import { judge, proposalsPerTurnMax, type ActionSource, type Tool } from "../../../domain/approvals/index.js";
import { Identity, PolicyDecision, RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { actingTool, internalTool, readingTool } from "./tools.js";

const { ALLOW_INTERNAL, REQUIRE_APPROVAL, BLOCKED } = PolicyDecision;
const { READ, WRITE, EXFILTRATION, DESTRUCTIVE, HIGH, RISK_CLASS_UNSPECIFIED } = RiskClass;
const named = [READ, WRITE, EXFILTRATION, DESTRUCTIVE, HIGH];
/** A value that a newer version may know. */
const beyond: unknown = 99;
const risks: readonly RiskClass[] = [...named, RISK_CLASS_UNSPECIFIED, beyond as RiskClass];
type CallInQuestion = Parameters<typeof judge>[0];
const accounts: readonly Tool["identity"][] = ["none", "user_or_bot", "bot"];
const identities: readonly Identity[] = [
  Identity.UNSPECIFIED,
  Identity.NONE,
  Identity.USER,
  Identity.BOT,
  beyond as Identity,
];
const sources: readonly ActionSource[] = ["chat", "job", "schedule", "heartbeat", "callback"];
const counts = [0, proposalsPerTurnMax - 1, proposalsPerTurnMax, proposalsPerTurnMax + 1];

function* everyCall(): Generator<CallInQuestion & { readonly tool: Tool }> {
  for (const make of [internalTool, readingTool, actingTool])
    for (const risk of risks)
      for (const identityRule of accounts)
        for (const identity of identities)
          for (const source of sources)
            for (const isTainted of [false, true])
              for (const proposals of counts)
                yield { tool: make({ risk, identity: identityRule }), identity, source, isTainted, proposals };
}

/** The policy as a person would say it, and not as a list of rules. */
function expected({ tool, identity, source, isTainted, proposals }: CallInQuestion & { readonly tool: Tool }) {
  if (!named.includes(tool.risk)) return [BLOCKED, "unknown_risk"];
  const isSomebody = identity === Identity.USER || identity === Identity.BOT;
  if (tool.identity !== "none" && !isSomebody) return [BLOCKED, "identity_required"];
  if (tool.identity === "bot" && identity === Identity.USER) return [BLOCKED, "identity_must_be_bot"];
  const isHarmless = tool.risk === READ || tool.risk === WRITE;
  if (tool.kind === "internal") return isHarmless ? [ALLOW_INTERNAL, "internal"] : [BLOCKED, "owner_only"];
  if (tool.kind === "reading" && tool.risk === READ) return [ALLOW_INTERNAL, "read"];
  if (isTainted && tool.risk !== READ) return [BLOCKED, "POLICY_BLOCKED_UNTRUSTED_TURN"];
  if (proposals >= proposalsPerTurnMax) return [BLOCKED, "too_many_proposals"];
  if (tool.kind === "reading") return [BLOCKED, "no_rule_allows_it"];
  return [REQUIRE_APPROVAL, source === "chat" ? "requires_approval" : "background_proposes_only"];
}

test("every call there can be is judged as the policy says", () => {
  const wrong = [...everyCall()].filter((call) => {
    const { decision, reason } = judge(call);
    return JSON.stringify([decision, reason]) !== JSON.stringify(expected(call));
  });
  expect(wrong).toEqual([]);
});

test("no call of a tool that acts is ever allowed at once, whatever else is so", () => {
  const calls = [...everyCall()].filter(({ tool }) => tool.kind === "acting");
  expect(calls.length).toBeGreaterThan(1_000);
  expect(new Set(calls.map((call) => judge(call).decision))).toEqual(new Set([BLOCKED, REQUIRE_APPROVAL]));
});

test("a tool that there is not is blocked, whoever calls it and for whatever reason", () => {
  for (const call of everyCall()) expect(judge({ ...call, tool: null }).reason).toBe("unknown_tool");
});
