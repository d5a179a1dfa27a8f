import type { UntrustedSource } from "../../domain/approvals/index.js";
import { refuse, type Instant, type NewFact } from "../../domain/shared/index.js";
import {
  conclude,
  endTurn,
  evolveThread,
  evolveTurn,
  evolveTurnQueue,
  initialThread,
  initialTurn,
  initialTurnQueue,
  nextMove,
  titleOf,
  titleThread,
  type Move,
  type Outcome,
  type Thread,
  type ToolCall,
  type Turn,
  type TurnRequest,
  type TurnRules,
} from "../../domain/threads/index.js";
import { handle } from "../handle.js";
import { executionIdOf, executionStarted, planErrand, type Errand, type Story } from "./errand.js";
import { threadStream, turnsStream, turnStream } from "./streams.js";
import type { TurnOutput } from "./turn-output.js";
import { modelOf, type TurnPlace, type TurnPorts } from "./turn-ports.js";
import { turnWrites } from "./turn-writes.js";
import { useInternal } from "./use-tool.js";

/**
 * Records what came of the last errand together with the intent of the next one: one append for each thing that is done
 * outside. Nothing is done that is not in the log first.
 */
export async function recordOutcome(
  ports: TurnPorts,
  place: TurnPlace,
  outcome: Outcome,
  story: Story,
  output: TurnOutput | null,
): Promise<Errand> {
  const { threadId, turnId } = place;
  const at = ports.clock.now();
  await ports.budget.know(at);
  const idle: Errand = { kind: "none" };
  let errand = idle as Errand;
  const reserved = new Set<string>();
  const handled = await handle(ports, {
    at,
    decide: (load) => {
      const thread = load(threadStream(threadId), initialThread, evolveThread);
      const queue = load(turnsStream(threadId), initialTurnQueue, evolveTurnQueue);
      const turn = load(turnStream(turnId), initialTurn, evolveTurn);
      const { active: request } = queue;
      if (thread.status !== "open") return refuse("thread_deleted");
      if (request?.turnId !== turnId) return refuse("turn_not_active");

      const rules = rulesOf(ports, story, turn, at);
      // Whoever has waited need not ask the clock again, which may have been set back.
      const isReady = outcome.kind === "ready";
      const outcomes = [...conclude(request, turn, outcome, rules, at)];
      let after = outcomes.reduce(evolveTurn, turn);
      const next = () => nextMove(request, after, queue, isReady ? Infinity : at);
      const end = outcomes.find(isEnd);
      let move: Move = end === undefined ? next() : { kind: "end", fact: end };
      // What needs nobody outside is done in the same breath.
      while (move.kind === "use" && ports.toolbox.find(move.call.tool)?.kind === "internal") {
        const facts = usedInternally(ports, place, request, after, move.call, rules, at);
        outcomes.push(...facts);
        after = facts.reduce(evolveTurn, after);
        move = next();
      }
      const planned = planErrand(ports, { turnId, request, turn: after, story, at }, move);
      errand = planned.errand;
      if (errand.kind === "ask") reserved.add(errand.question.callId);
      const ending = (fact: NewFact) => [...titled(thread, story.userText), ...endTurn(queue, fact)];
      const facts = [
        ...(output?.rest(committedText(outcomes)) ?? []),
        ...outcomes.filter((fact) => !isEnd(fact)),
        ...planned.facts.flatMap((fact) =>
          isEnd(fact) ? ending(fact) : isPause(fact) ? endTurn(queue, fact) : [fact],
        ),
      ];
      const model = modelOf(ports.models, turn.choice).name;
      return turnWrites(place, facts, { model, causationId: causeOf(outcome, turn, request) });
    },
  });
  if (handled.outcome === "refused") errand = idle;
  // Somebody was faster, and what was to be asked is not asked after all.
  if (errand.kind !== "ask") for (const callId of reserved) ports.budget.settle(callId, 0);
  if (handled.outcome === "refused" && handled.code === "too_much_contention") throw new Error(handled.code);
  return errand;
}

/** The use of an internal tool, from its beginning to its end. */
function usedInternally(
  ports: TurnPorts,
  place: TurnPlace,
  request: TurnRequest,
  turn: Turn,
  call: ToolCall,
  rules: TurnRules,
  at: Instant,
): readonly NewFact[] {
  const executionId = call.executionId ?? executionIdOf(ports, call);
  const begun = call.executionId === null ? [executionStarted(call, executionId)] : [];
  const used = useInternal(ports, place, { ...call, executionId });
  return [...begun, ...conclude(request, begun.reduce(evolveTurn, turn), used, rules, at)];
}

function rulesOf(ports: TurnPorts, story: Story, turn: Turn, at: Instant): TurnRules {
  const read = turn.steps.flatMap(({ calls }) => calls.flatMap(sourceOf));
  return {
    toolbox: ports.toolbox,
    hasFallback: ports.models.fallback !== null,
    derive: (...parts) => ports.ids.derive(...parts),
    circumstances: {
      hash: ports.hash,
      policyVersion: ports.policyVersion,
      expiresAt: at + ports.approvalMillis,
      untrusted: [...read, ...story.untrusted],
      ownerWords: story.ownerWords,
      isCutOff: story.isCutOff,
    },
  };
}

/** What a call has brought in that others wrote. */
function sourceOf({ tool, result }: ToolCall): readonly UntrustedSource[] {
  return result?.isUntrusted === true ? [{ tool, origin: result.origin, text: result.text }] : [];
}

/** What the first turn of a thread was about is what the thread is called. */
function titled(thread: Thread, userText: string): readonly NewFact[] {
  const decision = titleThread(thread, titleOf(userText));
  return decision.outcome === "accepted" ? decision.facts : [];
}

function isEnd(fact: NewFact): boolean {
  return fact.case === "turnCompleted" || fact.case === "turnFailed";
}

function isPause(fact: NewFact): boolean {
  return fact.case === "turnPaused";
}

function committedText(facts: readonly NewFact[]): string {
  const message = facts.find((fact) => fact.case === "assistantMessageCommitted");
  return message?.value.fullText ?? "";
}

function causeOf(outcome: Outcome, { asking }: Turn, { userMessageId }: TurnRequest): string {
  if (outcome.kind === "tool_finished") return outcome.call.executionId ?? "";
  return asking?.callId ?? userMessageId;
}
