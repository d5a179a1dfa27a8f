import { TurnOutput } from "../../../commands/threads/turn-output.js";
import type { NewFact } from "../../../domain/shared/index.js";
import { ReasoningVisibility } from "../../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { ManualTimers } from "./manual-timers.js";

/** An answer while it comes, and what was written of it. */
export class WrittenOutput {
  readonly timers = new ManualTimers();
  readonly writes: (readonly NewFact[])[] = [];
  readonly output: TurnOutput;

  constructor(visibility: ReasoningVisibility = ReasoningVisibility.REASONING_SUMMARY) {
    this.output = new TurnOutput("call 1", visibility, this.timers, (facts) => {
      this.writes.push(facts);
    });
  }

  says(...texts: readonly string[]): this {
    for (const text of texts) this.output.add({ kind: "text", text });
    return this;
  }

  thinks(...texts: readonly string[]): this {
    for (const text of texts) this.output.add({ kind: "thinking", text });
    return this;
  }

  pass(millis: number): this {
    this.timers.pass(millis);
    return this;
  }

  close(): this {
    this.output.close();
    return this;
  }

  get texts(): string[] {
    return textsIn(this.writes.flat());
  }

  get thoughts(): string[] {
    return thoughtsIn(this.writes.flat());
  }
}

export function textsIn(facts: readonly NewFact[]): string[] {
  return facts.flatMap((fact) => (fact.case === "assistantTextDelta" ? [fact.value.delta ?? ""] : []));
}

export function thoughtsIn(facts: readonly NewFact[]): string[] {
  return facts.flatMap((fact) => (fact.case === "assistantThinkingDelta" ? [fact.value.delta ?? ""] : []));
}
