import type { JsonObject } from "@bufbuild/protobuf";
import { Identity, PolicyDecision } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { estimateTokens } from "../budgets/index.js";
import { minute, toInstant, type Instant, type Told } from "../shared/index.js";

/** Which of the two models is asked. */
export type Choice = "primary" | "fallback";

/** A question to a model that has no answer yet. */
export interface Asking {
  readonly callId: string;
  readonly provider: string;
  readonly model: string;
  readonly reservedTokens: number;
}

/** A call that the model wants made, what policy says to it, and what came of it. */
export interface ToolCall {
  readonly toolCallId: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly identity: Identity;
  readonly decision: PolicyDecision;
  readonly reason: string;
  /** What was proposed, if it needs approval. */
  readonly actionId: string | null;
  /** null until it is being made. */
  readonly executionId: string | null;
  readonly result: CallResult | null;
}

interface CallResult {
  readonly text: string;
  readonly isFailure: boolean;
  /** Others wrote it. */
  readonly isUntrusted: boolean;
  readonly origin: string;
}

/** One answer of the model. Without calls it is the last. */
export interface Step {
  readonly text: string;
  readonly messageId: string;
  readonly calls: readonly ToolCall[];
}

/** An answer that could not be used. */
export interface Repair {
  readonly output: string;
  readonly reason: string;
}

/** How far a turn has come: all that is needed to go on with it, after a crash too. */
export interface Turn {
  readonly steps: readonly Step[];
  readonly asking: Asking | null;
  /** Which model is asked next. Once it is the fallback, it stays that. */
  readonly choice: Choice;
  /** How often a model was asked, in the whole turn. */
  readonly modelCalls: number;
  /** When the step that has begun must be over; null before the first, and where nobody knows any more. */
  readonly stepEndsAt: Instant | null;
  /** At this step: questions asked, those that failed with the model of our choice, or were lost, or badly answered. */
  readonly attempts: number;
  readonly failures: number;
  readonly losses: number;
  readonly repairs: readonly Repair[];
  /** The next question waits until then. */
  readonly notBefore: Instant | null;
  /** What tools have told the model so far. */
  readonly toolTokens: number;
  /** It has read what others wrote, and stays that way. */
  readonly isTainted: boolean;
  /** How many actions were proposed. */
  readonly proposals: number;
}

const newStep = { attempts: 0, failures: 0, losses: 0, repairs: [], notBefore: null } as const;

export const initialTurn: Turn = {
  steps: [],
  asking: null,
  choice: "primary",
  modelCalls: 0,
  stepEndsAt: null,
  toolTokens: 0,
  isTainted: false,
  proposals: 0,
  ...newStep,
};

export function evolveTurn(turn: Turn, fact: Told): Turn {
  switch (fact.case) {
    case "modelCallStarted": {
      const { callId = "", provider = "", model = "", fallbackModelUsed, stepEndsAt: ends } = fact.value ?? {};
      const choice = fallbackModelUsed ? "fallback" : "primary";
      const stepEndsAt = ends === undefined ? null : toInstant(asTimestamp(ends));
      const asking = { callId, provider, model, reservedTokens: Number(fact.value?.reservedTokens ?? 0) };
      const counts = { modelCalls: turn.modelCalls + 1, attempts: turn.attempts + 1 };
      return { ...turn, ...counts, asking, choice, stepEndsAt, notBefore: null };
    }
    case "modelCallFinished":
      return { ...turn, asking: null };
    case "modelCallFailed": {
      const isLoss = lossReasons.some((reason) => reason === fact.value?.reason);
      return { ...turn, asking: null, failures: turn.failures + (isLoss ? 0 : 1) };
    }
    case "turnResumed": {
      const { stepEndsAt: ends } = fact.value ?? {};
      const stepEndsAt = ends === undefined ? turn.stepEndsAt : toInstant(asTimestamp(ends));
      return { ...turn, losses: turn.losses + 1, stepEndsAt };
    }
    case "modelCallRetried": {
      const { fallbackModelUsed, notBefore: until } = fact.value ?? {};
      const notBefore = until === undefined ? null : toInstant(asTimestamp(until));
      const isSwitch = fallbackModelUsed === true && turn.choice === "primary";
      return { ...turn, notBefore, ...(isSwitch && { choice: "fallback", failures: 0 }) };
    }
    case "modelOutputRepairAttempted": {
      const { output = "", reason = "", fallbackModelUsed } = fact.value ?? {};
      const choice = fallbackModelUsed ? "fallback" : turn.choice;
      return { ...turn, choice, failures: 0, repairs: [...turn.repairs, { output, reason }] };
    }
    case "assistantMessageCommitted": {
      const { messageId = "", fullText: text = "" } = fact.value ?? {};
      return { ...turn, ...newStep, steps: [...turn.steps, { text, messageId, calls: [] }] };
    }
    case "toolCallPlanned": {
      const { toolCallId = "", toolName: tool = "", args = {}, identity, step = 0 } = fact.value ?? {};
      const planned: ToolCall = {
        toolCallId,
        tool,
        args,
        identity: identity ?? Identity.UNSPECIFIED,
        decision: PolicyDecision.POLICY_DECISION_UNSPECIFIED,
        reason: "",
        actionId: null,
        executionId: null,
        result: null,
      };
      const isNewStep = turn.steps.length < step;
      const steps = isNewStep ? [...turn.steps, { text: "", messageId: "", calls: [] }] : turn.steps;
      const withCall = steps.map((one, at) =>
        at === steps.length - 1 ? { ...one, calls: [...one.calls, planned] } : one,
      );
      return { ...turn, ...(isNewStep && newStep), steps: withCall };
    }
    case "policyDecisionMade": {
      const { toolCallId, decision, reason = "", actionId: proposed = "" } = fact.value ?? {};
      const actionId = proposed === "" ? null : proposed;
      const decided = { decision: decision ?? PolicyDecision.BLOCKED, reason, actionId };
      const proposals = turn.proposals + (actionId === null ? 0 : 1);
      return withCalls({ ...turn, proposals }, (call) =>
        call.toolCallId === toolCallId ? { ...call, ...decided } : call,
      );
    }
    case "toolExecutionStarted": {
      const { toolCallId, executionId = "" } = fact.value ?? {};
      return withCalls(turn, (call) => (call.toolCallId === toolCallId ? { ...call, executionId } : call));
    }
    case "toolExecutionFinished": {
      const {
        toolCallId,
        result: text = "",
        failed = false,
        untrusted = fact.value === null,
        origin = "",
      } = fact.value ?? {};
      const result = { text, isFailure: failed, isUntrusted: untrusted, origin };
      const told = withCalls(turn, (call) => (call.toolCallId === toolCallId ? { ...call, result } : call));
      return { ...told, toolTokens: turn.toolTokens + estimateTokens(text), isTainted: turn.isTainted || untrusted };
    }
    default:
      return turn;
  }
}

/** How long one step may take: asking, asking again, and using tools. */
export const stepMillisMax = minute;

/** Why a question has no answer if whoever asked it is gone: with the server, or because something broke in it. */
const lossReasons = ["server_stopped", "broke_off"] as const;
export type LossReason = (typeof lossReasons)[number];

export function callInFlight({ asking }: Turn): Asking {
  if (asking === null) throw new Error("an answer to nothing that was asked");
  return asking;
}

/** Calls are made in the last step only. */
function withCalls(turn: Turn, change: (call: ToolCall) => ToolCall): Turn {
  const last = turn.steps.at(-1);
  if (last === undefined) return turn;
  return { ...turn, steps: [...turn.steps.slice(0, -1), { ...last, calls: last.calls.map(change) }] };
}

function asTimestamp({ seconds = 0n, nanos = 0 }: { readonly seconds?: bigint; readonly nanos?: number }) {
  return { seconds, nanos };
}
