import { z } from "zod";
import { proposalsPerTurnMax, tool, type ActionSource, type judge, type Tool } from "../../domain/approvals/index.js";
import { Identity, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";

export type Call = Parameters<typeof judge>[0];

/** From a newer protocol. */
export const newerRisk = JSON.parse("99") as RiskClass;

const risks: readonly RiskClass[] = [
  RiskClass.RISK_CLASS_UNSPECIFIED,
  RiskClass.READ,
  RiskClass.WRITE,
  RiskClass.EXFILTRATION,
  RiskClass.DESTRUCTIVE,
  RiskClass.HIGH,
  newerRisk,
];
const identityRules: readonly Tool["identity"][] = ["none", "user_or_bot", "bot"];
const identities = [Identity.UNSPECIFIED, Identity.USER, Identity.BOT, Identity.NONE];
const sources: readonly ActionSource[] = ["chat", "job", "schedule", "heartbeat", "callback"];
const proposalCounts = [0, proposalsPerTurnMax - 1, proposalsPerTurnMax, proposalsPerTurnMax + 1];

/** Every call there can be, as far as a rule can tell them apart. */
export function everyCall(): readonly Call[] {
  const tools = risks.flatMap((risk) =>
    identityRules.flatMap((identity) => [internal(risk, identity), reading(risk, identity), acting(risk, identity)]),
  );
  return [null, ...tools].flatMap((one) =>
    identities.flatMap((identity) =>
      sources.flatMap((source) =>
        proposalCounts.flatMap((proposals) =>
          [false, true].map((isTainted) => ({ tool: one, identity, source, isTainted, proposals })),
        ),
      ),
    ),
  );
}

export function called({ tool: one, identity, source, isTainted, proposals }: Call): string {
  const what = one === null ? "no tool" : `${one.kind} of risk ${one.risk} for ${one.identity}`;
  return `${what}, as ${Identity[identity]}, in a ${source}, ${isTainted ? "tainted" : "clean"}, after ${proposals}`;
}

const spec = { name: "one", version: 1, description: "", args: z.strictObject({}) };

function internal(risk: RiskClass, identity: Tool["identity"]): Tool {
  const record = () => ({ facts: [], text: "" });
  return tool({ ...spec, risk, identity, kind: "internal", destination: "internal", record });
}

function reading(risk: RiskClass, identity: Tool["identity"]): Tool {
  const execute = async () => ({ text: "", isFailure: false, origin: "" });
  const external = { destination: "external", isResultUntrusted: true } as const;
  return tool({ ...spec, risk, identity, kind: "reading", ...external, execute });
}

function acting(risk: RiskClass, identity: Tool["identity"]): Tool {
  const unclear = async () => ({ outcome: "unknown", reason: "" }) as const;
  const describe = () => ({ summary: "", target: "", recipients: [], urls: [], body: "" });
  const external = { destination: "external", isResultUntrusted: true, undoSeconds: 0 } as const;
  return tool({ ...spec, risk, identity, kind: "acting", ...external, describe, execute: unclear, reconcile: unclear });
}
