import type { RecordedEvent } from "../../domain/shared/index.js";
import { replay, type LogReader } from "../../infra/event-log/index.js";
import { openBackend } from "../support/backend.js";
import { messagesIn } from "../support/conversation.js";
import { callCount, stepCount, type ScriptedModel } from "./turn-kill-script.js";

/** What is done once in a turn, however often its server is killed. Questions, deltas and resumptions are not. */
const once: ReadonlySet<string> = new Set([
  "messageCommitted",
  "turnStarted",
  "turnBudgetApplied",
  "assistantMessageCommitted",
  "toolCallPlanned",
  "policyDecisionMade",
  "toolExecutionStarted",
  "toolExecutionFinished",
  "noteWritten",
  "threadTitled",
  "turnCompleted",
  "turnFailed",
]);
/** What is another one in every run: the question that was answered at last, and how long something took. */
const incidental: ReadonlySet<string> = new Set(["$typeName", "segmentId", "durationMs"]);

/** What a log and its read models say about a turn. */
export interface Trace {
  /** All that may be done only once, in order. */
  readonly done: readonly string[];
  /** Ids, roles and texts. */
  readonly messages: readonly string[];
  /** The last of the thread. */
  readonly sequence: number;
  /** Steps whose answer is recorded. */
  readonly steps: number;
  readonly stepsDoubled: number;
  readonly isOver: boolean;
  /** Tools that have said what came of it. */
  readonly finished: ReadonlySet<string>;
  /** What the turn is in the middle of. */
  readonly phase: "asking" | "using a tool" | "over" | "between";
  /** What cannot be, whatever happened: a question with two outcomes, a text that is not what was streamed. */
  readonly contradiction: string | null;
}

/** Reads a directory that nobody serves. */
export async function traceOf(directory: string, threadId: string): Promise<Trace> {
  const backend = await openBackend(directory);
  try {
    const events = eventsIn(backend.log).filter((event) => event.threadId === threadId);
    const of = (type: string) => events.filter((event) => event.type === type);
    const planned = payloadsOf(events, "toolCallPlanned");
    const isOver = events.some(isEnd);
    const isUsing = of("toolExecutionStarted").length > of("toolExecutionFinished").length;
    const isAsking = of("modelCallStarted").length > of("modelCallFinished").length + of("modelCallFailed").length;
    const messages = await messagesIn(backend, threadId);
    return {
      done: events.filter(({ type }) => once.has(type)).map(toText),
      messages: messages.map(({ message_id: id, role, content }) => JSON.stringify({ id, role, content })),
      sequence: backend.log.threadHead(threadId),
      steps: new Set(planned.map(({ step }) => step)).size + of("turnCompleted").length,
      stepsDoubled: Math.max(0, planned.length - callCount),
      isOver,
      finished: new Set(payloadsOf(events, "toolExecutionFinished").map(({ executionId }) => executionId)),
      phase: isOver ? "over" : isAsking ? "asking" : isUsing ? "using a tool" : "between",
      contradiction: findContradiction(events),
    };
  } finally {
    backend.close();
  }
}

/** How a turn that was killed differs from one that was not, or null. */
export function findDifference(trace: Trace, reference: Trace): string | null {
  const { done, messages, contradiction } = trace;
  return firstDifference(done, reference.done) ?? firstDifference(messages, reference.messages) ?? contradiction;
}

/**
 * What was asked for though it was there: an answer that was recorded when the asking server started, or that the same
 * server asked for before; and the same for what the tool looked up.
 */
export function findRepetition(model: ScriptedModel, lives: readonly Trace[]): string | null {
  const before = (life: number) => lives[life - 1]!;
  const nonsense = model.asked.find(({ step }) => step === 0);
  if (nonsense !== undefined) return `life ${nonsense.life} asked what nobody should ask`;
  const again = model.asked.find(({ life, step }) => step <= before(life).steps);
  if (again !== undefined) return `life ${again.life} asked again for step ${again.step}, which was recorded`;
  const usedAgain = model.lookedUp.find(({ life, executionId }) => before(life).finished.has(executionId));
  if (usedAgain !== undefined) return `life ${usedAgain.life} looked up again what was recorded`;
  const twice = firstDouble([...model.asked, ...model.lookedUp].map((one) => JSON.stringify(one)));
  return twice === null ? null : `in one life, twice: ${twice}`;
}

export function eventsIn(log: LogReader): RecordedEvent[] {
  return [...replay(log, { afterPosition: 0 })].flat().map((row) => log.decode(row));
}

export function isEnd({ type }: Pick<RecordedEvent, "type">): boolean {
  return type === "turnCompleted" || type === "turnFailed";
}

function findContradiction(events: readonly RecordedEvent[]): string | null {
  const started = payloadsOf(events, "modelCallStarted").map(({ callId }) => callId);
  const answered = payloadsOf(events, "modelCallFinished").map(({ callId }) => callId);
  const lost = payloadsOf(events, "modelCallFailed").map(({ callId }) => callId);
  const ended = [...answered, ...lost];
  const twice = firstDouble(started) ?? firstDouble(ended);
  if (twice !== null) return `the question ${twice} has two beginnings or two outcomes`;
  if (events.some(isEnd)) {
    const open = started.find((callId) => !ended.includes(callId));
    if (open !== undefined) return `the question ${open} has no outcome`;
    if (answered.length !== stepCount) return `${answered.length} questions were answered instead of ${stepCount}`;
  }
  const deltas = payloadsOf(events, "assistantTextDelta");
  for (const { segmentId, fullText } of payloadsOf(events, "assistantMessageCommitted")) {
    const streamed = deltas.filter((one) => one.segmentId === segmentId).map(({ delta }) => delta);
    if (streamed.join("") !== fullText) return `streamed was "${streamed.join("|")}" and recorded "${fullText}"`;
  }
  return null;
}

type PayloadOf<T extends RecordedEvent["type"]> = NonNullable<RecordedEvent<T>["payload"]>;

function payloadsOf<T extends RecordedEvent["type"]>(events: readonly RecordedEvent[], type: T): PayloadOf<T>[] {
  return events.flatMap((event) => (event.type === type ? [event.payload as PayloadOf<T>] : []));
}

function toText({ type, payload }: RecordedEvent): string {
  const known = (key: string, value: unknown) => {
    if (incidental.has(key)) return undefined;
    return typeof value === "bigint" ? String(value) : value;
  };
  return `${type} ${JSON.stringify(payload, known)}`;
}

function firstDifference(ours: readonly string[], theirs: readonly string[]): string | null {
  const at = Array.from({ length: Math.max(ours.length, theirs.length) }, (_, index) => index).find(
    (index) => ours[index] !== theirs[index],
  );
  if (at === undefined) return null;
  return `there is ${ours[at] ?? "nothing more"} where without a kill there is ${theirs[at] ?? "nothing more"}`;
}

function firstDouble(texts: readonly string[]): string | null {
  return texts.find((one, at) => texts.indexOf(one) !== at) ?? null;
}
