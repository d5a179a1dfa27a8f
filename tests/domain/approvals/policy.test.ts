import { describe, expect, test } from "@jest/globals";
import {
  judge,
  policyRules,
  proposalsPerTurnMax,
  type ActionSource,
  type Tool,
} from "../../../domain/approvals/index.js";
import { artifactPut, notesWrite } from "../../../domain/memory/index.js";
import { Identity, PolicyDecision, RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { actingTool, internalTool, readingTool } from "./tools.js";

const { ALLOW_INTERNAL, REQUIRE_APPROVAL, BLOCKED } = PolicyDecision;
const { READ, WRITE, EXFILTRATION, DESTRUCTIVE, HIGH, RISK_CLASS_UNSPECIFIED } = RiskClass;
const risks = [READ, WRITE, EXFILTRATION, DESTRUCTIVE, HIGH];

const chat = { identity: Identity.NONE, source: "chat" as ActionSource, isTainted: false, proposals: 0 };
const ruled = (policyId: string, decision: PolicyDecision, reason: string) => ({ policyId, decision, reason });
const rule = (id: string, tool: Tool, more: Partial<typeof chat> = {}) =>
  policyRules.find((one) => one.id === id)?.judge({ ...chat, tool, ...more });
const judged = (tool: Tool | null, more: Partial<typeof chat> = {}) => judge({ ...chat, tool, ...more });

describe("a call of", () => {
  test("a tool that nobody knows is blocked", () => {
    expect(judged(null)).toEqual(ruled("tool.known", BLOCKED, "unknown_tool"));
  });

  test("a tool of our own that reads or writes is made at once", () => {
    for (const risk of [READ, WRITE])
      expect(judged(internalTool({ risk }))).toEqual(ruled("internal.autonomous", ALLOW_INTERNAL, "internal"));
    for (const tool of [notesWrite, artifactPut]) expect(judged(tool).decision).toBe(ALLOW_INTERNAL);
  });

  test("a tool of our own that does more than that is blocked, whoever wants it: it is the owner's to configure", () => {
    for (const risk of [EXFILTRATION, DESTRUCTIVE, HIGH])
      for (const source of ["chat", "job"] as const)
        for (const isTainted of [false, true])
          expect(judged(internalTool({ risk }), { source, isTainted })).toEqual(
            ruled("internal.configuration", BLOCKED, "owner_only"),
          );
  });

  test("a tool that reads is made at once, and blocked if it claims to do more than that", () => {
    expect(judged(readingTool())).toEqual(ruled("read.autonomous", ALLOW_INTERNAL, "read"));
    for (const risk of risks.filter((one) => one !== READ))
      expect(judged(readingTool({ risk }))).toEqual(ruled("default", BLOCKED, "no_rule_allows_it"));
  });

  test("a tool that acts needs approval, at any risk", () => {
    for (const risk of risks)
      expect(judged(actingTool({ risk }))).toEqual(ruled("external.approved", REQUIRE_APPROVAL, "requires_approval"));
  });

  test("a tool whose risk nobody has named, or has never heard of, is blocked", () => {
    const unheardOf = 99 as unknown as RiskClass;
    for (const risk of [RISK_CLASS_UNSPECIFIED, unheardOf])
      for (const tool of [internalTool({ risk }), readingTool({ risk }), actingTool({ risk })])
        expect(judged(tool)).toEqual(ruled("risk.known", BLOCKED, "unknown_risk"));
  });
});

describe("in a turn that has read what others wrote", () => {
  const tainted = { isTainted: true };
  test("nothing that leaves the house is proposed", () => {
    for (const risk of risks.filter((one) => one !== READ))
      expect(judged(actingTool({ risk }), tainted)).toEqual(
        ruled("turn.untrusted", BLOCKED, "POLICY_BLOCKED_UNTRUSTED_TURN"),
      );
  });

  test("notes are still written, and more is read", () => {
    expect(judged(internalTool(), tainted).decision).toBe(ALLOW_INTERNAL);
    expect(judged(readingTool(), tainted).decision).toBe(ALLOW_INTERNAL);
    expect(judged(actingTool({ risk: READ }), tainted).decision).toBe(REQUIRE_APPROVAL);
  });
});

describe("a turn", () => {
  test("proposes so many actions and no more", () => {
    const many = (proposals: number) => judged(actingTool(), { proposals });
    expect(many(proposalsPerTurnMax - 1).decision).toBe(REQUIRE_APPROVAL);
    expect(many(proposalsPerTurnMax)).toEqual(ruled("turn.proposals", BLOCKED, "too_many_proposals"));
    expect(judged(internalTool(), { proposals: 1_000 }).decision).toBe(ALLOW_INTERNAL);
  });

  test.each(["job", "schedule", "heartbeat", "callback"] as const)("of a %s only proposes", (source) => {
    const byRule = ruled("background.proposes", REQUIRE_APPROVAL, "background_proposes_only");
    for (const risk of risks) expect(judged(actingTool({ risk }), { source })).toEqual(byRule);
    expect(judged(internalTool(), { source }).decision).toBe(ALLOW_INTERNAL);
    expect(judged(actingTool(), { source, isTainted: true }).decision).toBe(BLOCKED);
    expect(judged(actingTool(), { source, proposals: proposalsPerTurnMax }).decision).toBe(BLOCKED);
  });
});

describe("whose account", () => {
  const makes = [internalTool, readingTool, actingTool];
  test("must be said where there are accounts", () => {
    for (const make of makes)
      for (const needed of ["user_or_bot", "bot"] as const)
        for (const identity of [Identity.NONE, Identity.UNSPECIFIED])
          expect(judged(make({ identity: needed }), { identity })).toEqual(
            ruled("identity.explicit", BLOCKED, "identity_required"),
          );
  });

  test("must be the bot's where only that may", () => {
    for (const make of makes) {
      const said = judged(make({ identity: "bot" }), { identity: Identity.USER });
      expect(said).toEqual(ruled("identity.bot", BLOCKED, "identity_must_be_bot"));
      expect(judged(make({ identity: "bot" }), { identity: Identity.BOT }).decision).not.toBe(BLOCKED);
    }
  });

  test("is anybody's where either may", () => {
    for (const identity of [Identity.USER, Identity.BOT])
      expect(judged(actingTool({ identity: "user_or_bot" }), { identity }).decision).toBe(REQUIRE_APPROVAL);
  });
});

describe("each rule alone", () => {
  test("says nothing about what is not its business", () => {
    expect(rule("risk.known", actingTool())).toBeNull();
    expect(rule("identity.explicit", actingTool())).toBeNull();
    expect(rule("identity.bot", actingTool({ identity: "user_or_bot" }), { identity: Identity.USER })).toBeNull();
    expect(rule("internal.autonomous", actingTool())).toBeNull();
    expect(rule("internal.autonomous", internalTool({ risk: HIGH }))).toBeNull();
    expect(rule("internal.configuration", actingTool({ risk: HIGH }))).toBeNull();
    expect(rule("read.autonomous", actingTool({ risk: READ }))).toBeNull();
    expect(rule("turn.untrusted", actingTool())).toBeNull();
    expect(rule("turn.untrusted", actingTool({ risk: READ }), { isTainted: true })).toBeNull();
    expect(rule("turn.proposals", actingTool())).toBeNull();
    expect(rule("background.proposes", actingTool())).toBeNull();
    expect(rule("background.proposes", readingTool(), { source: "job" })).toBeNull();
    expect(rule("external.approved", readingTool())).toBeNull();
  });

  test("comes in the order in which the owner reads them", () => {
    expect(policyRules.map(({ id }) => id)).toEqual([
      "risk.known",
      "identity.explicit",
      "identity.bot",
      "internal.autonomous",
      "internal.configuration",
      "read.autonomous",
      "turn.untrusted",
      "turn.proposals",
      "background.proposes",
      "external.approved",
    ]);
    expect(policyRules.every(({ says }) => says.endsWith("."))).toBe(true);
  });

  test("the first that has something to say decides", () => {
    const worst = actingTool({ risk: RISK_CLASS_UNSPECIFIED, identity: "bot" });
    const everything = { isTainted: true, proposals: 100, source: "job" as const };
    expect(judged(worst, everything).policyId).toBe("risk.known");
    const named = actingTool({ identity: "bot" });
    expect(judged(named, everything).policyId).toBe("identity.explicit");
    expect(judged(named, { ...everything, identity: Identity.USER }).policyId).toBe("identity.bot");
    expect(judged(named, { ...everything, identity: Identity.BOT }).policyId).toBe("turn.untrusted");
    expect(judged(actingTool(), { ...everything, isTainted: false }).policyId).toBe("turn.proposals");
    expect(judged(actingTool(), { source: "job" }).policyId).toBe("background.proposes");
  });

  test("one that breaks blocks, whatever the others would say", () => {
    const breaks = {
      id: "broken",
      says: "",
      judge: () => {
        throw new Error("broken");
      },
    };
    const ruling = judge({ ...chat, tool: internalTool() }, [breaks, ...policyRules]);
    expect(ruling).toEqual(ruled("broken", BLOCKED, "policy_rule_failed"));
  });

  test("if there is none, everything is blocked", () => {
    for (const tool of [internalTool(), readingTool(), actingTool()])
      expect(judge({ ...chat, tool }, [])).toEqual(ruled("default", BLOCKED, "no_rule_allows_it"));
  });
});
