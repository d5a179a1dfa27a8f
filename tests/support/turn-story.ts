import { z } from "zod";
import { tool, Toolbox } from "../../domain/approvals/index.js";
import { notesWrite } from "../../domain/memory/index.js";
import { minute, toTimestamp, type Instant, type NewFact } from "../../domain/shared/index.js";
import {
  effectiveBudget,
  evolveTurn,
  initialTurn,
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
  destination: "external",
  isResultUntrusted: false,
  execute: async () => ({ text: "sent", isFailure: false, origin: "" }),
});

const toolbox = new Toolbox([notesWrite, lookUp, mailSend]);
const derive = (...parts: readonly string[]) => parts.join("/");

export const withFallback = { toolbox, derive, hasFallback: true };
export const withoutFallback = { toolbox, derive, hasFallback: false };

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

/** The model is asked for the so-manieth time in its turn. */
export function asked(time: number, choice: "primary" | "fallback" = "primary", endsAt: Instant = stepEnd): NewFact {
  const value = { callId: `call ${time}`, fallbackModelUsed: choice === "fallback", stepEndsAt: toTimestamp(endsAt) };
  return { case: "modelCallStarted", value: { ...value, attempt: time, reservedTokens: 9_000n } };
}

const from = { provider: "somewhere", model: "some model" };

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

export function finished(time: number): NewFact {
  const counted = { inputTokens: 70n, outputTokens: 7n, cachedInputTokens: 5n, estimated: false };
  return { case: "modelCallFinished", value: { callId: `call ${time}`, ...from, finishReason: "stop", ...counted } };
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

const unknown = ruling(RiskClass.RISK_CLASS_UNSPECIFIED, "tool.known", PolicyDecision.BLOCKED, "unknown_tool");
const rulings = new Map([
  ["notes_write", ruling(RiskClass.WRITE, "internal.autonomous", PolicyDecision.ALLOW_INTERNAL, "internal")],
  ["look_up", ruling(RiskClass.READ, "read.autonomous", PolicyDecision.ALLOW_INTERNAL, "read")],
  [
    "mail_send",
    ruling(RiskClass.EXFILTRATION, "external.approved", PolicyDecision.REQUIRE_APPROVAL, "requires_approval"),
  ],
]);

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
