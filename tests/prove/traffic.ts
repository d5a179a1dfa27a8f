import type { Append, StreamWrite } from "../../commands/ports/index.js";
import type { NewFact, RecordedEvent } from "../../domain/shared/index.js";
import { fromOwner } from "../support/backend.js";
import { answered, delta, said, titled } from "../support/facts.js";
import type { Random } from "../support/random.js";

const threadIds = ["t0", "t1", "t2", "t3"];
const eventsMax = 5;
/** The stream that every caller of every process writes to, expecting the version it saw last. */
export const contendedStream = "thread-contended";

/** Says of one event which append it belongs to, and of how many it is which. Unique in a log. */
export interface Label {
  readonly append: string;
  readonly index: number;
  readonly count: number;
}

function textOf({ append, index, count }: Label): string {
  return `${append}:${index}/${count}`;
}

const labelPattern = /^(?<append>[\w.-]+):(?<index>\d+)\/(?<count>\d+)(?: |$)/;

/** The label that traffic put into an event; null for events that are no traffic. */
export function labelOf(event: RecordedEvent): Label | null {
  const found = labelPattern.exec(textIn(event))?.groups;
  if (found === undefined) return null;
  return { append: found["append"]!, index: Number(found["index"]), count: Number(found["count"]) };
}

function textIn({ envelope }: RecordedEvent): string {
  const payload = envelope?.payload;
  switch (payload?.case) {
    case "messageCommitted":
      return payload.value.text;
    case "assistantMessageCommitted":
      return payload.value.fullText;
    case "threadTitled":
      return payload.value.title;
    case "assistantTextDelta":
      return payload.value.delta;
    default:
      return "";
  }
}

/** An append of 1 to 5 events, mostly short, to one or two streams; some have a command id. */
export function nextAppend(name: string, random: Random): Append {
  const count = 1 + random.below(eventsMax);
  const facts = Array.from({ length: count }, (_, index) => nextFact({ append: name, index, count }, random));
  const threadId = random.pick(threadIds);
  const split = random.chance(25) ? 1 + random.below(count) : count;
  return {
    occurredAt: Date.UTC(2026, 0, 1) + random.below(1_000_000_000),
    writes: [
      writeTo(`thread-${threadId}`, threadId, facts.slice(0, split)),
      ...(split < count ? [writeTo(`turn-${name}`, random.pick(threadIds), facts.slice(split))] : []),
    ],
    ...(random.chance(30) && { command: { id: `command-${name}`, asked: { name } } }),
  };
}

/** An append that counts only if nobody else wrote to the stream meanwhile. */
export function contendedAppend(name: string, expected: number): Append {
  const fact = titled(textOf({ append: name, index: 0, count: 1 }));
  return {
    occurredAt: Date.UTC(2026, 0, 1),
    writes: [{ stream: contendedStream, expected, threadId: "contended", facts: [fact], provenance: fromOwner }],
  };
}

function writeTo(stream: string, threadId: string, facts: readonly NewFact[]): StreamWrite {
  return { stream, expected: "any", threadId, facts, provenance: fromOwner };
}

function nextFact(label: Label, random: Random): NewFact {
  const kind = random.pick([said, answered, titled, delta]);
  // Now and then longer than a page of the database.
  const padding = random.chance(2) ? 6_000 : random.below(200);
  return kind(`${textOf(label)} ${"x".repeat(padding)}`);
}
