import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import {
  endTurn,
  evolveTurnQueue,
  initialTurnQueue,
  startTurn,
  turnsWaitingMax,
  type Thread,
  type TurnQueue,
  type TurnRequest,
} from "../../../domain/threads/index.js";
import { TriggerType } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ReasoningVisibility } from "../../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { QueueMode } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { given } from "../../support/given.js";
import { turnCompleted, turnFailed, turnPaused, turnResumed } from "../../support/turn-facts.js";
import { requestOf } from "../../support/turn-story.js";

const turns = { initial: initialTurnQueue, evolve: evolveTurnQueue };
const open: Thread = { status: "open", isTitled: true };
const { QUEUE_MODE_UNSPECIFIED, REJECT_IF_BUSY, INTERRUPT_AFTER_CURRENT_TOOL, QUEUE_AFTER_TURN } = QueueMode;
const modes = [
  ["nothing is said", QUEUE_MODE_UNSPECIFIED],
  ["it would not wait", REJECT_IF_BUSY],
  ["it would interrupt", INTERRUPT_AFTER_CURRENT_TOOL],
  ["it would wait", QUEUE_AFTER_TURN],
] as const;

function start(
  queue: TurnQueue,
  request: TurnRequest,
  mode: QueueMode = QUEUE_AFTER_TURN,
  { thread = open, allowsRawReasoning = false } = {},
) {
  return startTurn(thread, queue, request, mode, { allowsRawReasoning });
}

const a = requestOf("a");
const b = requestOf("b");
const c = requestOf("c");
const interrupts = (turnId: string): NewFact => ({ case: "turnInterruptRequested", value: { turnId } });

const sameForAll = {
  callsPerStepMax: 10,
  outputTokensPerStepMax: 8_192,
  resultTokensMax: 16_000,
  stepSecondsMax: 60,
};

function begun({ budget, ...request }: TurnRequest): readonly NewFact[] {
  return [
    { case: "turnStarted", value: request },
    { case: "turnBudgetApplied", value: { effectiveBudget: budget, ...sameForAll } },
  ];
}

function queued({ budget, ...request }: TurnRequest, behindTurnId: string): NewFact {
  return { case: "turnQueued", value: { ...request, behindTurnId, requestedBudget: budget } };
}

describe("a turn", () => {
  test.each(modes)("begins at once if none is active, also when %s", (_what, mode) => {
    given(turns)
      .when(start, a, mode)
      .thenRecords(...begun(a));
    given(turns, ...begun(a), turnCompleted("answer"))
      .when(start, b, mode)
      .thenRecords(...begun(b));
    given(turns, ...begun(a), turnFailed("MODEL_TIMEOUT"))
      .when(start, b, mode)
      .thenRecords(...begun(b));
  });

  test("waits for the active one, and so it does when nothing is said", () => {
    given(turns, ...begun(a))
      .when(start, b, QUEUE_AFTER_TURN)
      .thenRecords(queued(b, "a"))
      .when(start, c, QUEUE_MODE_UNSPECIFIED)
      .thenRecords(queued(c, "a"));
  });

  test("that would not wait is refused while another is active, whoever else waits", () => {
    const busy = given(turns, ...begun(a));
    busy.when(start, b, REJECT_IF_BUSY).thenRefuses("turn_in_progress", { turnId: "a" });
    given(turns, ...begun(a), queued(b, "a"))
      .when(start, c, REJECT_IF_BUSY)
      .thenRefuses("turn_in_progress", { turnId: "a" });
  });

  test("that interrupts waits, too, and the active one is told to end, once", () => {
    given(turns, ...begun(a))
      .when(start, b, INTERRUPT_AFTER_CURRENT_TOOL)
      .thenRecords(queued(b, "a"), interrupts("a"))
      .when(start, c, INTERRUPT_AFTER_CURRENT_TOOL)
      .thenRecords(queued(c, "a"));
  });

  test("that was interrupted stays so when another only waits, until it ends", () => {
    const waiting = given(turns, ...begun(a), queued(b, "a"), interrupts("a"), queued(c, "a"));
    expect(waiting.state.isInterrupted).toBe(true);
    const ended = given(turns, ...begun(a), queued(b, "a"), interrupts("a"), turnFailed("TURN_INTERRUPTED"));
    expect(ended.state).toEqual({ active: null, isInterrupted: false, waiting: [b], paused: [] });
  });

  test("that begins is not interrupted, and can be", () => {
    given(turns, ...begun(a), queued(b, "a"), interrupts("a"), turnFailed("TURN_INTERRUPTED"), ...begun(b))
      .when(start, c, INTERRUPT_AFTER_CURRENT_TOOL)
      .thenRecords(queued(c, "b"), interrupts("b"));
  });

  const histories: [string, NewFact[]][] = [
    ["is active", [...begun(a)]],
    ["is not active", []],
  ];
  describe.each(histories)("needs an open thread, when another %s,", (_what, history) => {
    test.each(modes)("also when %s", (_how, mode) => {
      given(turns, ...history)
        .when(start, b, mode, { thread: { status: "none" } })
        .thenRefuses("thread_not_found");
      given(turns, ...history)
        .when(start, b, mode, { thread: { status: "deleted" }, allowsRawReasoning: true })
        .thenRefuses("thread_deleted");
    });
  });
});

describe("a model's raw reasoning", () => {
  const raw = { ...b, reasoningVisibility: ReasoningVisibility.REASONING_RAW };

  test.each(modes)("is not shown where policy does not allow it, also when %s", (_what, mode) => {
    given(turns).when(start, raw, mode).thenRefuses("reasoning_not_allowed");
    given(turns, ...begun(a))
      .when(start, raw, mode)
      .thenRefuses("reasoning_not_allowed");
  });

  test("is shown where policy allows it", () => {
    given(turns)
      .when(start, raw, QUEUE_AFTER_TURN, { allowsRawReasoning: true })
      .thenRecords(...begun(raw));
    given(turns, ...begun(a))
      .when(start, raw, QUEUE_AFTER_TURN, { allowsRawReasoning: true })
      .thenRecords(queued(raw, "a"));
  });

  test.each([ReasoningVisibility.REASONING_OFF, ReasoningVisibility.REASONING_SUMMARY])(
    "is all that policy can forbid: %s may be asked for",
    (reasoningVisibility) => {
      const asked = { ...b, reasoningVisibility };
      given(turns)
        .when(start, asked)
        .thenRecords(...begun(asked));
    },
  );
});

describe("of those that wait,", () => {
  const crowd = Array.from({ length: turnsWaitingMax }, (_, index) => requestOf(`waiting ${index}`));
  const full = [...begun(a), ...crowd.map((request) => queued(request, "a"))];
  const [first, second] = crowd as [TurnRequest, TurnRequest];

  test("there are ten at most, and one too many interrupts nobody", () => {
    expect(turnsWaitingMax).toBe(10);
    given(turns, ...full.slice(0, -1))
      .when(start, crowd.at(-1)!)
      .thenRecords(queued(crowd.at(-1)!, "a"))
      .when(start, b)
      .thenRefuses("turn_queue_full", { turnsWaitingMax });
    given(turns, ...full)
      .when(start, b, INTERRUPT_AFTER_CURRENT_TOOL)
      .thenRefuses("turn_queue_full", { turnsWaitingMax });
  });

  test("another may come when one has begun", () => {
    given(turns, ...full, turnCompleted("answer"), ...begun(first))
      .when(start, b)
      .thenRecords(queued(b, first.turnId));
  });

  test("the first begins with the end of the active one, as it was asked for", () => {
    const end = turnCompleted("answer");
    expect(endTurn(given(turns, ...begun(a)).state, end)).toEqual([end]);
    const asked: TurnRequest = {
      turnId: "b",
      userMessageId: "message b",
      triggerType: TriggerType.JOB_WAKEUP,
      triggerSourceId: "job-1",
      reasoningVisibility: ReasoningVisibility.REASONING_OFF,
      budget: { maxToolSteps: 3, maxToolTokens: 700, maxContextMessages: 9 },
    };
    const { state } = given(turns, ...begun(a), queued(asked, "a"), queued(c, "a"));
    expect(endTurn(state, end)).toEqual([end, ...begun(asked)]);
    expect(given(turns, ...begun(a), queued(asked, "a"), queued(c, "a"), end, ...begun(asked)).state).toEqual({
      active: asked,
      isInterrupted: false,
      waiting: [c],
      paused: [],
    });
  });

  test("each has its turn, in the order they came", () => {
    const { state } = given(turns, ...full);
    expect(state.waiting).toEqual(crowd);
    const next = given(turns, ...full, ...endTurn(state, turnFailed("MODEL_TIMEOUT"))).state;
    expect(next.active).toEqual(first);
    expect(next.waiting).toEqual(crowd.slice(1));
    expect(endTurn(next, turnCompleted("answer"))).toEqual([turnCompleted("answer"), ...begun(second)]);
  });
});

describe("a turn that waits for the owner", () => {
  const asleep = [...begun(a), turnPaused("a")];

  test("leaves its thread to others, whoever they are", () => {
    expect(given(turns, ...asleep).state).toEqual({ active: null, isInterrupted: false, waiting: [], paused: [a] });
    for (const [, mode] of modes) {
      given(turns, ...asleep)
        .when(start, b, mode)
        .thenRecords(...begun(b));
    }
  });

  test("lets the next one begin with its pause", () => {
    const { state } = given(turns, ...begun(a), queued(b, "a"), queued(c, "a"));
    const facts = endTurn(state, turnPaused("a"));
    expect(facts).toEqual([turnPaused("a"), ...begun(b)]);
    const after = given(turns, ...begun(a), queued(b, "a"), queued(c, "a"), ...facts).state;
    expect(after).toEqual({ active: b, isInterrupted: false, waiting: [c], paused: [a] });
  });

  test("is no longer told to end, nor is the one that comes after it", () => {
    const paused = given(turns, ...begun(a), queued(b, "a"), interrupts("a"), turnPaused("a"), ...begun(b));
    expect(paused.state.isInterrupted).toBe(false);
  });

  test("goes on as it was, and others wait for it again", () => {
    const awake = [...asleep, turnResumed("a")];
    expect(given(turns, ...awake).state).toEqual({ active: a, isInterrupted: false, waiting: [], paused: [] });
    given(turns, ...awake)
      .when(start, b, REJECT_IF_BUSY)
      .thenRefuses("turn_in_progress", { turnId: "a" });
    given(turns, ...awake)
      .when(start, b)
      .thenRecords(queued(b, "a"));
  });

  test("may be one of several, and each goes on by its name", () => {
    const both = [...asleep, ...begun(b), turnPaused("b")];
    expect(given(turns, ...both).state.paused).toEqual([a, b]);
    expect(given(turns, ...both, turnResumed("b")).state).toMatchObject({ active: b, paused: [a] });
    expect(given(turns, ...both, turnResumed("b"), turnCompleted("x")).state).toMatchObject({
      active: null,
      paused: [a],
    });
  });

  test("is not one that was never paused: a server was restarted, and nothing has changed", () => {
    for (const facts of [begun(a), [...asleep, ...begun(b)], []]) {
      expect(given(turns, ...facts, turnResumed("c")).state).toEqual(given(turns, ...facts).state);
    }
    expect(given(turns, ...begun(a), turnResumed("a")).state).toEqual(given(turns, ...begun(a)).state);
  });
});
