import fc from "fast-check";
import { minute, toTimestamp, type Instant, type NewFact } from "../../domain/shared/index.js";
import {
  conclude,
  evolveTurn,
  initialTurn,
  initialTurnQueue,
  nextMove,
  type Move,
  type Outcome,
  type ToolCall,
  type Trouble,
  type Turn,
} from "../../domain/threads/index.js";
import { asRead } from "./facts.js";
import { answer, noon, requestOf, trouble, withFallback, withoutFallback } from "./turn-story.js";

/** What the world has for a turn at its next move, whatever that is. */
interface Luck {
  /** What comes of a question. */
  readonly heard: Extract<Outcome, { kind: "answered" | "unanswered" | "lost" }>;
  /** What comes of using a tool. */
  readonly told: { readonly text: string; readonly isFailure: boolean } | "lost";
  readonly millis: number;
  /** A newer message comes meanwhile. */
  readonly isInterrupted: boolean;
}

const lost = { kind: "lost", why: "server_stopped" } as const;
const note = { title: "Tea", text: "Buy some." };
const goodCall = fc.constantFrom(
  ["notes_write", note] as const,
  ["look_up", { what: "tea" }] as const,
  ["mail_send", { to: "a@b.example", identity: "user" }] as const,
  ["mail_send", { to: "a@b.example" }] as const,
  ["no_such_tool", { deep: { er: [1, "2", null] } }] as const,
);
const badCall = fc.constantFrom(["notes_write", {}] as const, ["look_up", { what: 7 }] as const);
const passing = ["rate_limited", "unavailable", "timeout", "cut", "malformed"] as const;
const lasting = ["unauthorized", "payment_required", "rejected"] as const;

const troubles = (...some: readonly Trouble[]) =>
  fc
    .record({
      what: fc.constantFrom(...some),
      retryAfterMillis: fc.option(fc.constantFrom(0, 100, 29_000, 40_000), { nil: null }),
      jitter: fc.nat(997).map((part) => part / 997),
    })
    .map(({ what, ...changes }) => trouble(what, changes));

const texts = fc.constantFrom("", " ", "Good morning.", "half a crab: \ud83e", "{", '{"assistant_message":7}');
const answers = fc
  .tuple(texts, fc.array(goodCall, { maxLength: 3 }), fc.array(badCall, { maxLength: 1 }))
  .map(([text, good, bad]) => answer(text, ...good, ...bad));
/** Of such a kind that the turn goes on. */
const wishes = fc.array(goodCall, { minLength: 1, maxLength: 3 }).map((calls) => answer("One moment.", ...calls));

const anyLuck: fc.Arbitrary<Luck> = fc.record({
  heard: fc.oneof(
    { weight: 4, arbitrary: wishes },
    { weight: 3, arbitrary: answers },
    { weight: 1, arbitrary: fc.constant(answer("Good morning.")) },
    { weight: 4, arbitrary: troubles(...passing) },
    { weight: 1, arbitrary: troubles(...lasting) },
    { weight: 2, arbitrary: fc.constant(lost) },
  ),
  told: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        text: fc.constantFrom("", "It rains.", "x".repeat(900), "\u{1f980}".repeat(400)),
        isFailure: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.constant("lost" as const) },
  ),
  millis: fc.constantFrom(0, 1, 200, 400, 5_000, 59_999, 60_000),
  isInterrupted: fc.nat(60).map((number) => number === 60),
});

export interface Game {
  readonly maxToolSteps: number;
  readonly hasFallback: boolean;
  /** Comes again from the beginning when it is through: a world may do the same for ever. */
  readonly luck: readonly Luck[];
}

export const anyGame: fc.Arbitrary<Game> = fc.record({
  maxToolSteps: fc.integer({ min: 1, max: 4 }),
  hasFallback: fc.boolean(),
  luck: fc.array(anyLuck, { minLength: 1, maxLength: 30 }),
});

interface Played {
  readonly facts: readonly NewFact[];
  readonly moves: readonly Move[];
  /** The state after all facts as they were decided, and as they come back from the log. */
  readonly live: Turn;
  readonly replayed: Turn;
  /** How many facts there were when a newer message came; null if none came. */
  readonly factsBeforeInterrupt: number | null;
}

const movesMax = 10_000;

/**
 * Lives through a turn, as `recordOutcome` does: what came of the last move, and then the next one. What it has proposed is
 * settled sooner or later; that it goes on then is said in the stream of its thread.
 */
export function play({ maxToolSteps, hasFallback, luck }: Game): Played {
  const request = requestOf("turn-1", { maxToolSteps, maxToolTokens: 500 });
  const rules = hasFallback ? withFallback : withoutFallback;
  const facts: NewFact[] = [];
  const moves: Move[] = [];
  let live = initialTurn;
  let replayed = initialTurn;
  let queue = { ...initialTurnQueue, active: request };
  let at = noon;
  let outcome: Outcome = lost; // Whoever was at it before.
  let factsBeforeInterrupt: number | null = null;
  while (moves.length < movesMax) {
    const { heard, told, millis, isInterrupted } = luck[moves.length % luck.length]!;
    const concluded = conclude(request, live, outcome, rules, at);
    const after = concluded.reduce(evolveTurn, live);
    const end = concluded.find(isEnd);
    const movesAt = outcome.kind === "ready" ? Infinity : at;
    const move: Move = end === undefined ? nextMove(request, after, queue, movesAt) : { kind: "end", fact: end };
    const recorded = [...concluded.filter((fact) => !isEnd(fact)), ...meant(move, after, at)];
    if (move.kind === "pause") recorded.push(...after.steps.at(-1)!.calls.flatMap((call) => settled(call, told)));
    facts.push(...recorded);
    moves.push(move);
    live = recorded.reduce(evolveTurn, live);
    replayed = recorded.map(asRead).reduce(evolveTurn, replayed);
    if (move.kind === "end") return { facts, moves, live, replayed, factsBeforeInterrupt };

    at += millis;
    // Whoever comes while it is paused need not wait for it.
    if (isInterrupted && move.kind !== "pause") factsBeforeInterrupt ??= facts.length;
    queue = { ...queue, isInterrupted: factsBeforeInterrupt !== null };
    if (move.kind === "ask") outcome = queue.isInterrupted ? trouble("interrupted") : heard;
    else if (move.kind === "pause" || told === "lost") outcome = lost;
    else if (move.kind === "wait") outcome = { kind: "ready" };
    else
      outcome = toldBy(
        live.steps.at(-1)!.calls.find(({ toolCallId }) => toolCallId === move.call.toolCallId)!,
        told,
      );
  }
  throw new Error("the turn does not end");
}

function isEnd(fact: NewFact): boolean {
  return fact.case === "turnCompleted" || fact.case === "turnFailed";
}

/** The intent of a move, as facts. */
function meant(move: Move, turn: Turn, at: Instant): readonly NewFact[] {
  switch (move.kind) {
    case "end":
      return [move.fact];
    case "wait":
      return [];
    case "pause":
      return [{ case: "turnPaused", value: { turnId: "turn-1", pendingActionCount: move.actionIds.length } }];
    case "use": {
      const { toolCallId, executionId } = move.call;
      if (executionId !== null) return [];
      return [{ case: "toolExecutionStarted", value: { toolCallId, executionId: `run ${toolCallId}` } }];
    }
    case "ask": {
      const { step, attempt, choice } = move;
      const stepEndsAt = attempt === 1 ? at + minute : (turn.stepEndsAt ?? 0);
      const value = { step, attempt, fallbackModelUsed: choice === "fallback", stepEndsAt: toTimestamp(stepEndsAt) };
      const callId = `call ${turn.modelCalls + 1}`;
      return [{ case: "modelCallStarted", value: { callId, ...value, reservedTokens: 9_000n } }];
    }
  }
}

/** What became of an action that was proposed. */
function settled({ toolCallId, actionId, result }: ToolCall, told: Luck["told"]): readonly NewFact[] {
  if (actionId === null || result !== null) return [];
  const failed = told === "lost" || told.isFailure;
  const value = { toolCallId, result: failed ? "The owner rejected it." : "It was done.", failed };
  return [{ case: "toolExecutionFinished", value }];
}

function toldBy(call: ToolCall, told: Luck["told"]): Outcome {
  const { text, isFailure } = told === "lost" ? { text: "", isFailure: true } : told;
  const rest = { isUntrusted: false, origin: "", isTimeout: false, durationMillis: 1, facts: [] };
  return { kind: "tool_finished", call, text, isFailure, ...rest };
}
