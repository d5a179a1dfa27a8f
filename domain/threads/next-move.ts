import { PolicyDecision } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { Instant, NewFact } from "../shared/index.js";
import type { Choice, ToolCall, Turn } from "./turn.js";
import { turnFailed } from "./turn-end.js";
import type { TurnQueue, TurnRequest } from "./turn-queue.js";

/** What a turn does next. */
export type Move =
  | {
      readonly kind: "ask";
      readonly step: number;
      readonly attempt: number;
      readonly choice: Choice;
      /** Nothing can follow it, so no tools may be called. */
      readonly isLastStep: boolean;
    }
  | { readonly kind: "use"; readonly call: ToolCall }
  | { readonly kind: "wait"; readonly until: Instant }
  /** Until the owner has decided, and what they approved was done. */
  | { readonly kind: "pause"; readonly actionIds: readonly string[] }
  | { readonly kind: "end"; readonly fact: NewFact };

/** Follows from what is recorded, and from nothing else: after a crash it is the same move. */
export function nextMove({ budget }: TurnRequest, turn: Turn, { isInterrupted }: TurnQueue, at: Instant): Move {
  const last = turn.steps.at(-1);
  if (last?.calls.length === 0) return end({ case: "turnCompleted", value: { assistantMessageId: last.messageId } });
  if (isInterrupted) return end(turnFailed("TURN_INTERRUPTED", false));
  const call = last?.calls.find(isToBeMade);
  if (call !== undefined) return { kind: "use", call };
  const actionIds = last?.calls.flatMap((one) => (one.result === null && one.actionId !== null ? [one.actionId] : []));
  if (actionIds !== undefined && actionIds.length > 0) return { kind: "pause", actionIds };
  const step = turn.steps.length + 1;
  if (step > budget.maxToolSteps) {
    return end(turnFailed("TURN_STEP_LIMIT", false));
  }
  const { choice, attempts, notBefore } = turn;
  if (notBefore !== null && at < notBefore) return { kind: "wait", until: notBefore };
  return { kind: "ask", step, attempt: attempts + 1, choice, isLastStep: step === budget.maxToolSteps };
}

function isToBeMade({ decision, result }: ToolCall): boolean {
  return decision === PolicyDecision.ALLOW_INTERNAL && result === null;
}

function end(fact: NewFact): Move {
  return { kind: "end", fact };
}
