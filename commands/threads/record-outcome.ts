import { refuse, type NewFact } from "../../domain/shared/index.js";
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
  type Turn,
  type TurnRequest,
} from "../../domain/threads/index.js";
import { handle } from "../handle.js";
import { planErrand, type Errand, type Story } from "./errand.js";
import { threadStream, turnsStream, turnStream } from "./streams.js";
import type { TurnOutput } from "./turn-output.js";
import { modelOf, type TurnPlace, type TurnPorts } from "./turn-ports.js";
import { turnWrites } from "./turn-writes.js";

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
  const rules = {
    toolbox: ports.toolbox,
    hasFallback: ports.models.fallback !== null,
    derive: (...parts: readonly string[]) => ports.ids.derive(...parts),
  };
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

      const concluded = conclude(request, turn, outcome, rules, at);
      const after = concluded.reduce(evolveTurn, turn);
      const end = concluded.find(isEnd);
      const move: Move = end === undefined ? nextMove(request, after, queue, at) : { kind: "end", fact: end };
      const isFresh = outcome.kind === "lost";
      const planned = planErrand(ports, { turnId, request, turn: after, story, at, isFresh }, move);
      errand = planned.errand;
      if (errand.kind === "ask") reserved.add(errand.question.callId);
      const ending = (fact: NewFact) => [...titled(thread, story.userText), ...endTurn(queue, fact)];
      const facts = [
        ...(output?.rest(committedText(concluded)) ?? []),
        ...concluded.filter((fact) => !isEnd(fact)),
        ...planned.facts.flatMap((fact) => (isEnd(fact) ? ending(fact) : [fact])),
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

/** What the first turn of a thread was about is what the thread is called. */
function titled(thread: Thread, userText: string): readonly NewFact[] {
  const decision = titleThread(thread, titleOf(userText));
  return decision.outcome === "accepted" ? decision.facts : [];
}

function isEnd(fact: NewFact): boolean {
  return fact.case === "turnCompleted" || fact.case === "turnFailed";
}

function committedText(facts: readonly NewFact[]): string {
  const message = facts.find((fact) => fact.case === "assistantMessageCommitted");
  return message?.value.fullText ?? "";
}

function causeOf(outcome: Outcome, { asking }: Turn, { userMessageId }: TurnRequest): string {
  if (outcome.kind === "tool_finished") return outcome.call.executionId ?? "";
  return asking?.callId ?? userMessageId;
}
