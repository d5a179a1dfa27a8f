import { Identity, PolicyDecision, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { Tool } from "./tool.js";

/** Who wants something done. Only a chat is a person. */
export type ActionSource = "chat" | "job" | "schedule" | "heartbeat" | "callback";

/** What a call is judged by. */
export interface CallInQuestion {
  /** null if there is no such tool. */
  readonly tool: Tool | null;
  readonly identity: Identity;
  readonly source: ActionSource;
  /** The turn has read what others wrote. */
  readonly isTainted: boolean;
  /** How many actions the turn has proposed already. */
  readonly proposals: number;
}

/** What may be done about a call, by which rule, and why. */
export interface Ruling {
  readonly policyId: string;
  readonly decision: PolicyDecision;
  readonly reason: string;
}

/** One sentence of the policy. It judges, or leaves the call to the next one. */
export interface PolicyRule {
  readonly id: string;
  /** The rule in words, for the owner. */
  readonly says: string;
  readonly judge: (call: CallInQuestion & { readonly tool: Tool }) => Omit<Ruling, "policyId"> | null;
}

/** How many actions one turn may propose. */
export const proposalsPerTurnMax = 5;

const knownRisks: readonly RiskClass[] = [
  RiskClass.READ,
  RiskClass.WRITE,
  RiskClass.EXFILTRATION,
  RiskClass.DESTRUCTIVE,
  RiskClass.HIGH,
];

/** What a tool of our own may do without anybody's leave. */
const autonomousRisks: readonly RiskClass[] = [RiskClass.READ, RiskClass.WRITE];

/** In this order; the first that judges decides. */
export const policyRules: readonly PolicyRule[] = [
  {
    id: "risk.known",
    says: "A tool whose risk nobody has named is not used.",
    judge: ({ tool }) => (knownRisks.includes(tool.risk) ? null : blocked("unknown_risk")),
  },
  {
    id: "identity.explicit",
    says: "Where there are accounts, a call says whose it uses.",
    judge: ({ tool, identity }) =>
      tool.identity === "none" || identity === Identity.USER || identity === Identity.BOT
        ? null
        : blocked("identity_required"),
  },
  {
    id: "identity.bot",
    says: "What only the bot may do is not done in the owner's name.",
    judge: ({ tool, identity }) =>
      tool.identity === "bot" && identity !== Identity.BOT ? blocked("identity_must_be_bot") : null,
  },
  {
    id: "internal.autonomous",
    says: "Notes and documents of our own are read and written at once.",
    judge: ({ tool }) =>
      tool.destination === "internal" && autonomousRisks.includes(tool.risk) ? allowed("internal") : null,
  },
  {
    id: "internal.configuration",
    says: "Whatever does more than that in our own house is configuration, and the owner's alone.",
    judge: ({ tool }) => (tool.destination === "internal" ? blocked("owner_only") : null),
  },
  {
    id: "read.autonomous",
    says: "What only reads is done at once, unless the tool wants to be approved.",
    judge: ({ tool }) => (tool.kind === "reading" && tool.risk === RiskClass.READ ? allowed("read") : null),
  },
  {
    id: "turn.untrusted",
    says: "A turn that has read what others wrote proposes nothing that leaves the house.",
    judge: ({ tool, isTainted }) =>
      isTainted && tool.risk !== RiskClass.READ ? blocked("POLICY_BLOCKED_UNTRUSTED_TURN") : null,
  },
  {
    id: "turn.proposals",
    says: `A turn proposes at most ${proposalsPerTurnMax} actions.`,
    judge: ({ proposals }) => (proposals >= proposalsPerTurnMax ? blocked("too_many_proposals") : null),
  },
  {
    id: "background.proposes",
    says: "What no person asked for just now is only proposed.",
    judge: ({ tool, source }) => (source !== "chat" && tool.kind === "acting" ? ask("background_proposes_only") : null),
  },
  {
    id: "external.approved",
    says: "Whatever else reaches out needs the owner's approval of exactly that.",
    judge: ({ tool }) => (tool.kind === "acting" ? ask("requires_approval") : null),
  },
];

/** Decides about one call. A rule that breaks blocks, and so does it if no rule has anything to say. */
export function judge(call: CallInQuestion, rules: readonly PolicyRule[] = policyRules): Ruling {
  const { tool } = call;
  if (tool === null) return { policyId: "tool.known", ...blocked("unknown_tool") };
  for (const { id: policyId, judge: judgeBy } of rules) {
    try {
      const ruling = judgeBy({ ...call, tool });
      if (ruling !== null) return { policyId, ...ruling };
    } catch {
      return { policyId, ...blocked("policy_rule_failed") };
    }
  }
  return { policyId: "default", ...blocked("no_rule_allows_it") };
}

function allowed(reason: string): Omit<Ruling, "policyId"> {
  return { decision: PolicyDecision.ALLOW_INTERNAL, reason };
}

function ask(reason: string): Omit<Ruling, "policyId"> {
  return { decision: PolicyDecision.REQUIRE_APPROVAL, reason };
}

function blocked(reason: string): Omit<Ruling, "policyId"> {
  return { decision: PolicyDecision.BLOCKED, reason };
}
