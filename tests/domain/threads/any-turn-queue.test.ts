import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Fact, NewFact } from "../../../domain/shared/index.js";
import {
  endTurn,
  evolveTurnQueue,
  initialTurnQueue,
  startTurn,
  turnsWaitingMax,
  type TurnQueue,
} from "../../../domain/threads/index.js";
import { QueueMode } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { asRead } from "../../support/facts.js";
import { turnCompleted, turnFailed, turnPaused, turnResumed } from "../../support/turn-facts.js";
import { requestOf } from "../../support/turn-story.js";

type Step =
  | { readonly what: "asked"; readonly mode: QueueMode }
  | { readonly what: "completed" | "failed" | "paused" | "resumed" };

const mode = fc.constantFrom(
  QueueMode.QUEUE_AFTER_TURN,
  QueueMode.INTERRUPT_AFTER_CURRENT_TOOL,
  QueueMode.REJECT_IF_BUSY,
  QueueMode.QUEUE_MODE_UNSPECIFIED,
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ what: fc.constant("asked"), mode }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constantFrom("completed", "failed", "paused", "resumed") }) },
  ),
  { maxLength: 60 },
);

interface Lived {
  readonly queue: TurnQueue;
  readonly facts: readonly NewFact[];
  /** Turns that were not refused, in their order. */
  readonly accepted: readonly string[];
}

function live(all: readonly Step[], check: (lived: Lived) => void = () => undefined): Lived {
  let lived: Lived = { queue: initialTurnQueue, facts: [], accepted: [] };
  all.forEach((step, index) => {
    const recorded = recordedBy(lived.queue, step, `turn ${index}`);
    const queue = recorded.map(asRead).reduce(evolveTurnQueue, lived.queue);
    const isAccepted = step.what === "asked" && recorded.length > 0;
    const accepted = [...lived.accepted, ...(isAccepted ? [`turn ${index}`] : [])];
    lived = { queue, facts: [...lived.facts, ...recorded], accepted };
    check(lived);
  });
  return lived;
}

function recordedBy(queue: TurnQueue, step: Step, turnId: string): readonly NewFact[] {
  if (step.what === "asked") {
    const thread = { status: "open", isTitled: true } as const;
    const decision = startTurn(thread, queue, requestOf(turnId), step.mode, { allowsRawReasoning: false });
    return decision.outcome === "accepted" ? decision.facts : [];
  }
  const { active, paused } = queue;
  if (step.what === "resumed") return active === null ? paused.slice(0, 1).map((one) => turnResumed(one.turnId)) : [];
  if (active === null) return [];
  switch (step.what) {
    case "completed":
      return endTurn(queue, turnCompleted("answer"));
    case "failed":
      return endTurn(queue, turnFailed("MODEL_TIMEOUT"));
    case "paused":
      return endTurn(queue, turnPaused(active.turnId));
  }
}

/** Who began, or went on, last. */
function lastAwake(facts: readonly NewFact[]): string | undefined {
  const last = facts.findLast((fact) => fact.case === "turnStarted" || fact.case === "turnResumed");
  return last?.value.turnId;
}

const isEnd = (fact: NewFact) => fact.case === "turnCompleted" || fact.case === "turnFailed";

test("whoever asks and whatever ends, one turn is active at most, and none is lost or comes twice", () => {
  fc.assert(
    fc.property(steps, (all) => {
      live(all, ({ queue, facts, accepted }) => {
        const begun = facts.flatMap((fact) => (fact.case === "turnStarted" ? [fact.value.turnId] : []));
        const count = (type: NewFact["case"]) => facts.filter((fact) => fact.case === type).length;
        const asleep = count("turnPaused") - count("turnResumed");
        const active = begun.length - facts.filter(isEnd).length - asleep;
        expect([0, 1]).toContain(active);
        expect(queue.active?.turnId).toBe(active === 1 ? lastAwake(facts) : undefined);
        expect(queue.paused).toHaveLength(asleep);
        expect([...begun, ...queue.waiting.map(({ turnId }) => turnId)]).toEqual(accepted);
        expect(queue.waiting.length).toBeLessThanOrEqual(turnsWaitingMax);
        if (active === 0) expect(queue.waiting).toEqual([]);
      });
    }),
  );
});

test("each turn is told to end once at most, while it is active", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const { facts } = live(all);
      const told = new Set<string | undefined>();
      let active: string | undefined;
      for (const fact of facts) {
        if (fact.case === "turnStarted" || fact.case === "turnResumed") {
          active = fact.value.turnId;
          told.delete(active); // Once it has paused, nobody remembers.
        }
        if (fact.case !== "turnInterruptRequested") continue;
        expect(fact.value.turnId).toBe(active);
        expect(told).not.toContain(active);
        told.add(active);
      }
    }),
  );
});

const kept: readonly NewFact["case"][] = ["turnPaused", "turnResumed"];

test("whatever was erased of it, a history is read, says whether a turn is active, and knows nobody who does not wait", () => {
  fc.assert(
    fc.property(steps, fc.infiniteStream(fc.boolean()), (all, isErased) => {
      const { queue, facts } = live(all);
      const left = facts.map((fact) =>
        isErased.next().value === true && !kept.includes(fact.case)
          ? ({ case: fact.case, value: null } as Fact)
          : asRead(fact),
      );
      const read = left.reduce(evolveTurnQueue, initialTurnQueue);
      expect(read.active === null).toBe(queue.active === null);
      expect(read.isInterrupted).toBe(queue.isInterrupted);
      // Who waits there waits in truth, in the same order, and is known.
      const waiting = new Set(read.waiting.map(({ turnId }) => turnId));
      expect(queue.waiting.filter(({ turnId }) => waiting.has(turnId))).toEqual(read.waiting);
      recordedBy(read, { what: "asked", mode: QueueMode.INTERRUPT_AFTER_CURRENT_TOOL }, "next");
      recordedBy(read, { what: "completed" }, "");
    }),
  );
});

test("a decision does not change what was known", () => {
  fc.assert(
    fc.property(steps, mode, (all, next) => {
      const { queue } = live(all);
      const before = structuredClone(queue);
      recordedBy(queue, { what: "asked", mode: next }, "next");
      recordedBy(queue, { what: "failed" }, "");
      expect(queue).toEqual(before);
    }),
  );
});
