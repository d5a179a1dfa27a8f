import type { Append, EventLog, ExpectedVersion, StreamWrite } from "../../commands/ports/index.js";
import type { NewFact, RecordedEvent } from "../../domain/shared/index.js";
import { fromOwner } from "./backend.js";

/** When everything happens in tests that are not about time. */
export const noon = Date.UTC(2026, 0, 1, 12);

/** Facts for one stream, in the thread of the same name. */
export function write(stream: string, expected: ExpectedVersion, ...facts: readonly NewFact[]): StreamWrite {
  return { stream, expected, threadId: stream, facts, provenance: fromOwner };
}

export function appendOf(...writes: readonly StreamWrite[]): Append {
  return { occurredAt: noon, writes };
}

/** The events of an append that must succeed. */
export async function record(log: EventLog, append: Append): Promise<readonly RecordedEvent[]> {
  const result = await log.append(append);
  if (result.outcome !== "appended") throw new Error(`not appended: ${JSON.stringify(result)}`);
  return result.events;
}

/** Some events in a stream and thread, each in an append of its own, all in one group. */
export async function recordMany(log: EventLog, stream: string, facts: readonly NewFact[]): Promise<RecordedEvent[]> {
  const recorded = await Promise.all(facts.map((fact) => record(log, appendOf(write(stream, "any", fact)))));
  return recorded.flat();
}
