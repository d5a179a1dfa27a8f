import { judge, policyRules, type PolicyRule, type Ruling } from "../../domain/approvals/index.js";
import { PolicyDecision, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { called, everyCall, type Call } from "./policy-closed-calls.js";
import { checkTroubles } from "./policy-closed-server.js";
import type { Check, Proof } from "./proof.js";
import { Tally } from "./tally.js";

const calls = everyCall();
const troublesShare = 0.0005;
const troublesMin = 7;

export const policyClosed: Proof = {
  name: "policy.closed",
  promise: "policy fails closed",
  sizes: { small: 4_000, full: policyRules.length * calls.length },
  run: async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    checkRules(n, seed, judge, tally);
    await checkTroubles(Math.max(troublesMin, Math.round(n * troublesShare)), seed, tally);
    return tally.finding();
  },
  control: checkOpen(),
};

/** Whoever has nothing against it, or breaks, lets it pass. */
const judgeOpen: typeof judge = (call, rules) => {
  for (const { id: policyId, judge: judgeBy } of rules ?? policyRules) {
    try {
      const ruling = call.tool === null ? null : judgeBy({ ...call, tool: call.tool });
      if (ruling !== null) return { policyId, ...ruling };
    } catch {
      continue;
    }
  }
  return { policyId: "default", decision: PolicyDecision.ALLOW_INTERNAL, reason: "nobody minds" };
};

function checkOpen(): Check {
  return async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    checkRules(n, seed, judgeOpen, tally);
    return tally.finding();
  };
}

/** One rule after the other breaks, for each call; if not for all, then for some all over. */
function checkRules(n: number, seed: number, judgeBy: typeof judge, tally: Tally): void {
  const total = policyRules.length * calls.length;
  const stride = Math.max(1, Math.floor(total / n));
  for (let at = seed % stride, done = 0; at < total && done < n; at += stride, done++) {
    const call = calls[at % calls.length]!;
    const broken = Math.floor(at / calls.length);
    const rules = policyRules.map((rule, index) => (index === broken ? breaking(rule) : rule));
    const problem = whatIsOpen(call, judgeBy(call, rules), judge(call), broken);
    const id = policyRules[broken]!.id;
    tally.case(problem === null ? null : `${id} breaks at ${called(call)}: ${problem}`);
  }
  tally.add("rules broken", policyRules.length);
}

function breaking(rule: PolicyRule): PolicyRule {
  const judgeNothing = () => {
    throw new Error("broken");
  };
  return { ...rule, judge: judgeNothing };
}

/** A call that comes to a broken rule is blocked; one that was decided before it is decided as it always is. */
function whatIsOpen(call: Call, ruling: Ruling, sound: Ruling, broken: number): string | null {
  const { tool } = call;
  const isEffect = tool?.kind === "acting" || (tool?.kind === "reading" && tool.risk !== RiskClass.READ);
  if (isEffect && ruling.decision === PolicyDecision.ALLOW_INTERNAL) return "an effect is allowed";
  const decidedBy = policyRules.findIndex(({ id }) => id === sound.policyId);
  const isDecidedBefore = tool === null || (decidedBy >= 0 && decidedBy < broken);
  const expected = isDecidedBefore ? sound.decision : PolicyDecision.BLOCKED;
  return ruling.decision === expected ? null : `${PolicyDecision[ruling.decision]}, not ${PolicyDecision[expected]}`;
}
