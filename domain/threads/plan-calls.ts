import type { JsonObject } from "@bufbuild/protobuf";
import { Identity, PolicyDecision, RiskClass, TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import {
  judge,
  proposalOf,
  settledArgs,
  type ActionSource,
  type Circumstances,
  type Ruling,
  type Tool,
  type Wish,
} from "../approvals/index.js";
import { approvalNeeded } from "../notifications/index.js";
import type { NewFact } from "../shared/index.js";
import type { PlannedCall } from "./model-output.js";
import type { TurnRules } from "./outcome.js";
import type { Turn } from "./turn.js";
import type { TurnRequest } from "./turn-queue.js";

/** Where there are accounts, a model that calls tools natively says among the arguments whose it means. */
export function inNameOf(call: PlannedCall, tool: Tool | null): Pick<PlannedCall, "args" | "identity"> {
  if (tool === null || tool.identity === "none" || call.identity !== null) return call;
  const { identity, ...args } = call.args;
  return identity === "user" || identity === "bot" ? { args, identity } : call;
}

/** Each call in turn: what was proposed before counts for those that follow. */
export function plannedCalls(
  request: TurnRequest,
  turn: Turn,
  calls: readonly PlannedCall[],
  step: number,
  rules: TurnRules,
): readonly NewFact[] {
  let { proposals } = turn;
  return calls.flatMap((call, index) => {
    const facts = planned(request, { ...turn, proposals }, call, { step, index }, rules);
    if (facts.some((fact) => fact.case === "proposedActionCreated")) proposals += 1;
    return facts;
  });
}

function planned(
  request: TurnRequest,
  { isTainted, proposals }: Turn,
  call: PlannedCall,
  { step, index }: { readonly step: number; readonly index: number },
  rules: TurnRules,
): readonly NewFact[] {
  const { toolbox, derive, circumstances } = rules;
  const tool = toolbox.find(call.tool);
  const named = inNameOf(call, tool);
  const identity = identityOf(named.identity);
  const toolCallId = derive("tool-call", request.turnId, String(step), String(index + 1));
  const source = sourceOf(request.triggerType);
  const ruling = judge({ tool, identity, source, isTainted, proposals });
  const args = named.args as JsonObject; // It was JSON when it came.
  const planned: NewFact = {
    case: "toolCallPlanned",
    value: {
      toolCallId,
      toolName: call.tool,
      args,
      riskClass: tool?.risk ?? RiskClass.RISK_CLASS_UNSPECIFIED,
      identity,
      step,
      justification: call.justification,
    },
  };
  if (ruling.decision !== PolicyDecision.REQUIRE_APPROVAL || tool?.kind !== "acting") {
    return [planned, { case: "policyDecisionMade", value: { toolCallId, ...closed(ruling) } }];
  }
  const actionId = derive("action", toolCallId);
  const wish = {
    actionId,
    toolCallId,
    // The place of the call in its turn.
    idempotencyKey: `${request.turnId}/${step}/${index + 1}`,
    tool,
    identity,
    justification: call.justification,
    source,
    sourceId: request.triggerSourceId || request.turnId,
    supersedes: null,
  };
  const proposed = cardOf(wish, args, circumstances);
  if (proposed === null) {
    const failed = { policyId: ruling.policyId, decision: PolicyDecision.BLOCKED, reason: "card_failed" };
    return [planned, { case: "policyDecisionMade", value: { toolCallId, ...failed } }];
  }
  return [
    planned,
    { case: "policyDecisionMade", value: { toolCallId, actionId, ...ruling } },
    proposed,
    approvalNeeded(derive, { actionId, toolCallId, expiresAt: circumstances.expiresAt }),
  ];
}

/** null if there is no card, or not of exactly what would be carried out: what cannot be shown cannot be approved. */
function cardOf(wish: Omit<Wish, "args">, args: JsonObject, circumstances: Circumstances): NewFact | null {
  const settled = settledArgs(wish.tool, args);
  return settled === null ? null : proposalOf({ ...wish, args: settled }, circumstances);
}

/** Nothing waits for an approval that could not be carried out. */
function closed(ruling: Ruling): Ruling {
  if (ruling.decision !== PolicyDecision.REQUIRE_APPROVAL) return ruling;
  return { ...ruling, decision: PolicyDecision.BLOCKED, reason: "not_an_action" };
}

function sourceOf(trigger: TriggerType): ActionSource {
  switch (trigger) {
    case TriggerType.TRIGGER_TYPE_UNSPECIFIED:
    case TriggerType.CHAT_MESSAGE:
      return "chat";
    case TriggerType.JOB_WAKEUP:
      return "job";
    case TriggerType.SCHEDULE_WAKEUP:
      return "schedule";
    case TriggerType.HEARTBEAT:
      return "heartbeat";
    case TriggerType.DELEGATED_CALLBACK:
      return "callback";
  }
}

function identityOf(identity: PlannedCall["identity"]): Identity {
  switch (identity) {
    case "user":
      return Identity.USER;
    case "bot":
      return Identity.BOT;
    case null:
      return Identity.NONE;
  }
}
