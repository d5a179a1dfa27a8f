import { z } from "zod";
import { propose, tool, Toolbox, type ActingTool } from "../../domain/approvals/index.js";
import { notesWrite } from "../../domain/memory/index.js";
import { approvalNeeded } from "../../domain/notifications/index.js";
import { minute, toTimestamp, type Instant, type NewFact } from "../../domain/shared/index.js";
import {
  effectiveBudget,
  evolveTurn,
  initialTurn,
  turnFailures,
  type Answered,
  type Trouble,
  type TurnBudget,
  type TurnRequest,
  type Unanswered,
} from "../../domain/threads/index.js";
import { Identity, PolicyDecision, RiskClass, TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ReasoningVisibility } from "../../proto/gen/pincer/protocol/v1/turn_events_pb.js";

export const noon = Date.UTC(2026, 0, 1, 12);
export const stepEnd = noon + minute;

/** For `given`. */
export const turn = { initial: initialTurn, evolve: evolveTurn };

const lookUp = tool({
  name: "look_up",
  version: 1,
  description: "Reads what others wrote.",
  args: z.strictObject({ what: z.string().min(1) }),
  risk: RiskClass.READ,
  identity: "none",
  kind: "reading",
  destination: "external",
  isResultUntrusted: true,
  execute: async ({ what }) => ({ text: what, isFailure: false, origin: "" }),
});

const mailSend = tool({
  name: "mail_send",
  version: 1,
  description: "Tells others something.",
  args: z.strictObject({ to: z.string() }),
  risk: RiskClass.EXFILTRATION,
  identity: "user_or_bot",
  kind: "acting",
  destination: "external",
  isResultUntrusted: false,
  undoSeconds: 0,
  describe: ({ to }) => ({ summary: `Mail to ${to}`, target: to, recipients: [to], urls: [], body: "" }),
  execute: async () => ({ outcome: "unknown", reason: "" }),
  reconcile: async () => ({ outcome: "unknown", reason: "" }),
});

const toolbox = new Toolbox([notesWrite, lookUp, mailSend]);
const derive = (...parts: readonly string[]) => parts.join("/");

const circumstances = {
  hash: () => new Uint8Array([1]),
  policyVersion: "test",
  expiresAt: 0,
  untrusted: [],
  ownerWords: [],
  isCutOff: false,
};

export const withFallback = { toolbox, derive, circumstances, hasFallback: true };
export const withoutFallback = { toolbox, derive, circumstances, hasFallback: false };

export function requestOf(turnId: string, budget: Partial<TurnBudget> = {}): TurnRequest {
  return {
    turnId,
    userMessageId: `message ${turnId}`,
    triggerType: TriggerType.CHAT_MESSAGE,
    triggerSourceId: "",
    reasoningVisibility: ReasoningVisibility.REASONING_SUMMARY,
    budget: effectiveBudget(budget),
  };
}

const from = { provider: "somewhere", model: "some model" };

/** The model is asked for the so-manieth time in its turn. */
export function asked(time: number, choice: "primary" | "fallback" = "primary", endsAt: Instant = stepEnd): NewFact {
  const value = { callId: `call ${time}`, fallbackModelUsed: choice === "fallback", stepEndsAt: toTimestamp(endsAt) };
  return { case: "modelCallStarted", value: { ...value, ...from, attempt: time, reservedTokens: 9_000n } };
}

/** The model has answered, with a text, with calls of tools, or with both. */
export function answer(text: string, ...calls: readonly (readonly [tool: string, args: unknown])[]): Answered {
  return {
    kind: "answered",
    ...from,
    text,
    toolCalls: calls.map(([name, args], index) => ({ id: `${index}`, name, argumentsJson: JSON.stringify(args) })),
    finishReason: "stop",
    inputTokens: 70,
    outputTokens: 7,
    cachedInputTokens: 5,
    isEstimated: false,
  };
}

/** It has answered, and why that could not be used, if it could not. */
export function finished(time: number, unusableReason = ""): NewFact {
  const counted = { inputTokens: 70n, outputTokens: 7n, cachedInputTokens: 5n, estimated: false };
  const value = { callId: `call ${time}`, ...from, finishReason: "stop", ...counted, unusableReason };
  return { case: "modelCallFinished", value };
}

/** The model has not answered. */
export function trouble(what: Trouble, changes: Partial<Unanswered> = {}): Unanswered {
  const message = `because it is ${what}`;
  const usual = { kind: "unanswered", ...from, chargedTokens: 30, retryAfterMillis: null, jitter: 1 } as const;
  return { ...usual, trouble: what, message, ...changes };
}

export function failed(time: number, what: Trouble): NewFact {
  const why = { reason: what, message: `because it is ${what}` };
  return { case: "modelCallFailed", value: { callId: `call ${time}`, ...from, ...why, chargedTokens: 30n } };
}

/** After this time it is asked again: at once, or then. */
export function retried(
  time: number,
  reason: string,
  choice: "primary" | "fallback" = "primary",
  until: Instant | null = null,
): NewFact {
  const wait = until === null ? {} : { notBefore: toTimestamp(until) };
  const value = { callId: `call ${time}`, attempt: time, reason, fallbackModelUsed: choice === "fallback", ...wait };
  return { case: "modelCallRetried", value };
}

/** The turn is over, with the words that belong to the code. */
export function over(code: keyof typeof turnFailures, retryable: boolean, retryAt: Instant | null = null): NewFact {
  const at = retryAt === null ? {} : { retryAt: toTimestamp(retryAt) };
  return { case: "turnFailed", value: { code, message: turnFailures[code], retryable, ...at } };
}

/** Somebody is at it again, and the step has all its time again. The turn may have seven steps. */
export function resumed(stepsUsed: number, at: Instant = noon, resumedReason = "server_restarted"): NewFact {
  const value = { turnId: "turn-1", resumedReason, stepsUsed, stepsRemaining: 7 - stepsUsed };
  return { case: "turnResumed", value: { ...value, stepEndsAt: toTimestamp(at + minute) } };
}

export function committed(step: number, fullText: string, segmentId: string): NewFact {
  const value = { messageId: `message/turn-1/${step}`, fullText, segmentId };
  return { case: "assistantMessageCommitted", value };
}

export function repairAttempted(
  repairAttempt: number,
  choice: "primary" | "fallback",
  said: { readonly callId: string; readonly reason: string; readonly output: string },
): NewFact {
  const value = { repairAttempt, fallbackModelUsed: choice === "fallback", ...said };
  return { case: "modelOutputRepairAttempted", value };
}

type Args = Readonly<Record<string, string>>;

/** The n-th call of a step, as it is recorded: what the model wants, and what policy says to it. */
export function planned(step: number, index: number, toolName: string, args: Args = {}): readonly NewFact[] {
  const toolCallId = `tool-call/turn-1/${step}/${index}`;
  const { riskClass, ...decided } = rulings.get(toolName) ?? unknown;
  const value = { toolCallId, toolName, args, riskClass, identity: Identity.NONE, step };
  return [
    { case: "toolCallPlanned", value },
    { case: "policyDecisionMade", value: { toolCallId, ...decided } },
  ];
}

/** The n-th call of a step is one of mail_send: it is proposed, and the owner is told. */
export function proposed(
  step: number,
  index: number,
  to: string,
  { identity = Identity.USER, justification = "" } = {},
): readonly NewFact[] {
  const toolCallId = `tool-call/turn-1/${step}/${index}`;
  const actionId = `action/${toolCallId}`;
  const { riskClass, ...decided } = needsApproval;
  const wish = {
    ...{ actionId, toolCallId, identity, justification, source: "chat", sourceId: "turn-1", supersedes: null },
    idempotencyKey: `turn-1/${step}/${index}`,
    tool: mailSend as ActingTool<unknown>,
    args: { to },
  };
  return [
    {
      case: "toolCallPlanned",
      value: { toolCallId, toolName: "mail_send", args: { to }, riskClass, identity, step, justification },
    },
    { case: "policyDecisionMade", value: { toolCallId, actionId, ...decided } },
    propose(wish, circumstances),
    approvalNeeded(derive, { actionId, toolCallId, expiresAt: circumstances.expiresAt }),
  ];
}

const unknown = ruling(RiskClass.RISK_CLASS_UNSPECIFIED, "tool.known", PolicyDecision.BLOCKED, "unknown_tool");
const rulings = new Map([
  ["notes_write", ruling(RiskClass.WRITE, "internal.autonomous", PolicyDecision.ALLOW_INTERNAL, "internal")],
  ["look_up", ruling(RiskClass.READ, "read.autonomous", PolicyDecision.ALLOW_INTERNAL, "read")],
  // Nobody is named in whose name.
  ["mail_send", ruling(RiskClass.EXFILTRATION, "identity.explicit", PolicyDecision.BLOCKED, "identity_required")],
]);
const needsApproval = ruling(
  RiskClass.EXFILTRATION,
  "external.approved",
  PolicyDecision.REQUIRE_APPROVAL,
  "requires_approval",
);

function ruling(riskClass: RiskClass, policyId: string, decision: PolicyDecision, reason: string) {
  return { riskClass, policyId, decision, reason };
}

/** The tool is being used, and perhaps it is done. */
export function using(step: number, index: number): NewFact {
  const toolCallId = `tool-call/turn-1/${step}/${index}`;
  return { case: "toolExecutionStarted", value: { toolCallId, executionId: `run ${step}/${index}` } };
}

export function used(step: number, index: number, result = "done"): NewFact {
  const toolCallId = `tool-call/turn-1/${step}/${index}`;
  return { case: "toolExecutionFinished", value: { toolCallId, executionId: `run ${step}/${index}`, result } };
}
