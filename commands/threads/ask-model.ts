import type { NewFact } from "../../domain/shared/index.js";
import { outputTokensPerStepMax, stepMillisMax, type Outcome, type TurnRequest } from "../../domain/threads/index.js";
import { ModelError, type StreamWrite } from "../ports/index.js";
import type { Question } from "./errand.js";
import { answered, interrupted, unanswered, type WhyNot } from "./model-outcome.js";
import { threadStream } from "./streams.js";
import { TurnOutput } from "./turn-output.js";
import { modelOf, type NamedModel, type TurnPlace, type TurnPorts, type TurnSignals } from "./turn-ports.js";
import { turnWrites } from "./turn-writes.js";

const timesUp = new ModelError("timeout", "The step took longer than it may.");

export interface Asked {
  readonly outcome: Outcome;
  readonly output: TurnOutput;
}

/** Asks, and writes down what comes while it comes. Rejects if it is told to stop, or if that cannot be written down. */
export async function askModel(
  ports: TurnPorts,
  place: TurnPlace,
  request: TurnRequest,
  question: Question,
  signals: TurnSignals,
): Promise<Asked> {
  const chosen = modelOf(ports.models, question.choice);
  const giveUp = new AbortController();
  // A clock that was set back does not make a step longer.
  const millisLeft = Math.min(stepMillisMax, Math.max(0, question.stepEndsAt - ports.clock.now()));
  const takeBack = ports.timers.after(millisLeft, () => {
    giveUp.abort(timesUp);
  });
  let writing: Promise<unknown> = Promise.resolve();
  const write = (facts: readonly NewFact[]) => {
    writing = writing.then(() => writeOutput(ports, place, outputWrites(place, facts, chosen, question)));
    writing.catch((error: unknown) => {
      giveUp.abort(error);
    });
  };
  const output = new TurnOutput(question.callId, request.reasoningVisibility, ports.timers, write);
  const signal = AbortSignal.any([signals.stop, signals.interrupt, giveUp.signal]);
  try {
    const { messages, tools, mayCallTools } = question;
    const asked = { model: chosen.name, messages, tools, mayCallTools, outputTokensMax: outputTokensPerStepMax };
    const answer = await chosen.model.ask(
      asked,
      (delta) => {
        output.add(delta);
      },
      signal,
    );
    return { outcome: answered(chosen, answer, question.inputTokens), output };
  } catch (error) {
    signals.stop.throwIfAborted();
    const soFar = { inputTokens: question.inputTokens, outputTokens: output.tokens };
    return { outcome: unanswered(chosen, whyNot(error, signals), soFar, ports.random), output };
  } finally {
    takeBack();
    output.close();
    await writing;
  }
}

/** Nothing is added to a thread that is deleted. */
async function writeOutput(
  { log, clock }: TurnPorts,
  { threadId }: TurnPlace,
  writes: readonly StreamWrite[],
): Promise<void> {
  for (;;) {
    const stream = threadStream(threadId);
    const [last] = log.readStream(stream, Math.max(0, log.streamVersion(stream) - 1), 1);
    const [first] = writes;
    if (first === undefined || last === undefined || last.type === "threadDeleted") return;
    const guard = { ...first, stream: last.stream, expected: last.version, threadId: null, facts: [] };
    const { outcome } = await log.append({ occurredAt: clock.now(), writes: [guard, ...writes] });
    if (outcome !== "version_conflict") return;
  }
}

function outputWrites(
  place: TurnPlace,
  facts: readonly NewFact[],
  { name }: NamedModel,
  { callId }: Question,
): readonly StreamWrite[] {
  return turnWrites(place, facts, { model: name, causationId: callId }).map(({ stream, threadId, provenance }, at) => {
    return { stream, expected: "any", threadId, provenance, facts: facts.slice(at, at + 1) };
  });
}

/** What is neither the model's trouble nor the owner's wish is ours, and is thrown on. */
function whyNot(error: unknown, { interrupt }: TurnSignals): WhyNot {
  if (interrupt.aborted && error === interrupt.reason) return interrupted;
  if (error instanceof ModelError) return error;
  throw error;
}
