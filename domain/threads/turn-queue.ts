import { QueueMode } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { ReasoningVisibility } from "../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { accept, refuse, second, type Decision, type NewFact, type Told } from "../shared/index.js";
import { callsPerStepMax } from "./model-output.js";
import type { Thread } from "./thread.js";
import { stepMillisMax } from "./turn.js";
import { effectiveBudget, outputTokensPerStepMax, resultTokensMax, type TurnBudget } from "./turn-budget.js";

/** How many turns of a thread may wait for the one that is active. */
export const turnsWaitingMax = 10;

/** What somebody wants the model to answer, and how. */
export interface TurnRequest {
  readonly turnId: string;
  readonly userMessageId: string;
  readonly triggerType: TriggerType;
  /** The job, schedule or callback that asks; empty for a person. */
  readonly triggerSourceId: string;
  readonly reasoningVisibility: ReasoningVisibility;
  readonly budget: TurnBudget;
}

/** The turns of a thread: one at a time, the others in the order of the log. */
export interface TurnQueue {
  readonly active: TurnRequest | null;
  readonly isInterrupted: boolean;
  readonly waiting: readonly TurnRequest[];
  /** Those that wait for the owner. Others may go on meanwhile. */
  readonly paused: readonly TurnRequest[];
}

export const initialTurnQueue: TurnQueue = { active: null, isInterrupted: false, waiting: [], paused: [] };

export function evolveTurnQueue(queue: TurnQueue, fact: Told): TurnQueue {
  switch (fact.case) {
    case "turnQueued":
      // What it asked for is erased: it cannot begin any more.
      return fact.value === null ? queue : { ...queue, waiting: [...queue.waiting, requestOf(fact.value)] };
    case "turnStarted": {
      // Of one that is erased it is known that it was the next.
      const [next, ...others] = queue.waiting;
      if (fact.value === null)
        return { ...queue, active: next ?? requestOf(null), isInterrupted: false, waiting: others };
      const active = requestOf(fact.value);
      const waiting = queue.waiting.filter(({ turnId }) => turnId !== active.turnId);
      return { ...queue, active, isInterrupted: false, waiting };
    }
    case "turnPaused": {
      const { active, paused } = queue;
      return { ...queue, active: null, isInterrupted: false, paused: active === null ? paused : [...paused, active] };
    }
    case "turnResumed": {
      const resumed = queue.paused.find(({ turnId }) => turnId === fact.value?.turnId);
      if (resumed === undefined) return queue; // It was not paused; a server was restarted.
      return { ...queue, active: resumed, paused: queue.paused.filter((other) => other !== resumed) };
    }
    case "turnBudgetApplied": {
      const budget = effectiveBudget(fact.value?.effectiveBudget ?? null);
      return queue.active === null ? queue : { ...queue, active: { ...queue.active, budget } };
    }
    case "turnInterruptRequested":
      return { ...queue, isInterrupted: true };
    case "turnCompleted":
    case "turnFailed":
      return { ...queue, active: null, isInterrupted: false };
    default:
      return queue;
  }
}

export function startTurn(
  thread: Thread,
  queue: TurnQueue,
  request: TurnRequest,
  mode: QueueMode,
  policy: { readonly allowsRawReasoning: boolean },
): Decision {
  if (thread.status === "none") return refuse("thread_not_found");
  if (thread.status === "deleted") return refuse("thread_deleted");
  const isRaw = request.reasoningVisibility === ReasoningVisibility.REASONING_RAW;
  if (isRaw && !policy.allowsRawReasoning) return refuse("reasoning_not_allowed");
  if (queue.active === null) return accept(...beginning(request));
  const { turnId } = queue.active;
  switch (mode) {
    case QueueMode.REJECT_IF_BUSY:
      return refuse("turn_in_progress", { turnId });
    case QueueMode.INTERRUPT_AFTER_CURRENT_TOOL:
      return enqueue(queue, request, turnId, !queue.isInterrupted);
    case QueueMode.QUEUE_AFTER_TURN:
    case QueueMode.QUEUE_MODE_UNSPECIFIED:
      return enqueue(queue, request, turnId, false);
  }
}

/** The active turn is over, or waits for the owner, and the next one begins. */
export function endTurn(queue: TurnQueue, end: NewFact): readonly NewFact[] {
  const [next] = queue.waiting;
  return next === undefined ? [end] : [end, ...beginning(next)];
}

function enqueue(queue: TurnQueue, request: TurnRequest, behindTurnId: string, interrupts: boolean): Decision {
  if (queue.waiting.length >= turnsWaitingMax) return refuse("turn_queue_full", { turnsWaitingMax });
  const { budget: requestedBudget, ...asked } = request;
  const queued: NewFact = { case: "turnQueued", value: { ...asked, behindTurnId, requestedBudget } };
  if (!interrupts) return accept(queued);
  return accept(queued, { case: "turnInterruptRequested", value: { turnId: behindTurnId } });
}

/** What every turn may do, whatever was asked for. */
const sameForAll = {
  callsPerStepMax,
  outputTokensPerStepMax,
  resultTokensMax,
  stepSecondsMax: stepMillisMax / second,
};

function beginning({ budget, ...request }: TurnRequest): readonly NewFact[] {
  return [
    { case: "turnStarted", value: request },
    { case: "turnBudgetApplied", value: { effectiveBudget: { ...budget }, ...sameForAll } },
  ];
}

type Asked = Extract<Told, { case: "turnQueued" | "turnStarted" }>["value"];

/** Of an erased one, nothing is known but that it was there. */
function requestOf(asked: Asked): TurnRequest {
  return {
    turnId: asked?.turnId ?? "",
    userMessageId: asked?.userMessageId ?? "",
    triggerType: asked?.triggerType ?? TriggerType.TRIGGER_TYPE_UNSPECIFIED,
    triggerSourceId: asked?.triggerSourceId ?? "",
    reasoningVisibility: asked?.reasoningVisibility ?? ReasoningVisibility.REASONING_VISIBILITY_UNSPECIFIED,
    budget: effectiveBudget(asked && "requestedBudget" in asked ? (asked.requestedBudget ?? null) : null),
  };
}
