import { retryMillisMax, type LossReason, type Outcome } from "../../domain/threads/index.js";
import { pause } from "../pause.js";
import { askModel, type Asked } from "./ask-model.js";
import type { Errand, Story } from "./errand.js";
import { costOf } from "./model-outcome.js";
import { recordOutcome } from "./record-outcome.js";
import { turnStream } from "./streams.js";
import type { TurnPlace, TurnPorts, TurnSignals } from "./turn-ports.js";
import { useTool } from "./use-tool.js";

/** How many turns a model is shown word for word. */
const talkTurnsMax = 12;

/**
 * Takes a turn from wherever it stands to its end: asks, uses tools, asks again. Whatever was recorded is not done again;
 * what was begun and has no outcome is; `why` says what became of whoever began it. Rejects, with the turn left as it is, if
 * it is told to stop or the log fails.
 */
export async function runTurn(
  ports: TurnPorts,
  place: TurnPlace,
  signals: TurnSignals,
  why: LossReason,
): Promise<void> {
  const story = await tell(ports, place);
  // Whoever was at it before, if anybody was, is gone.
  let done: Done = { outcome: { kind: "lost", why }, output: null };
  for (;;) {
    signals.stop.throwIfAborted();
    settle(ports, done);
    const errand = await recordOutcome(ports, place, done.outcome, story, done.output);
    if (errand.kind === "none") {
      ports.folds?.drop(turnStream(place.turnId));
      return;
    }
    done = await run(ports, place, errand, signals);
  }
}

type Done = { readonly outcome: Outcome; readonly output: Asked["output"] | null; readonly callId?: string };

async function run(
  ports: TurnPorts,
  place: TurnPlace,
  errand: Exclude<Errand, { kind: "none" }>,
  signals: TurnSignals,
): Promise<Done> {
  switch (errand.kind) {
    case "ask": {
      const { request, question } = errand;
      return { ...(await askModel(ports, place, request, question, signals)), callId: question.callId };
    }
    case "use":
      return { outcome: await useTool(ports, place, errand, signals), output: null };
    case "wait": {
      // A timer may be a millisecond early, and the clock may have been set back since.
      const millis = Math.min(retryMillisMax, Math.max(0, errand.until - ports.clock.now() + 1));
      await pause(ports.timers, millis, signalOf(signals));
      return { outcome: { kind: "ready" }, output: null };
    }
  }
}

async function tell({ conversations, lookups, random }: TurnPorts, { threadId, turnId }: TurnPlace): Promise<Story> {
  const about = await conversations.before(threadId, turnId, talkTurnsMax);
  return { ...about, ...(await lookups.surroundings(threadId)), boundary: random.boundary() };
}

/** What a call has cost takes the place of what was reserved for it, before anything else is. */
function settle({ budget }: TurnPorts, { outcome, callId = "" }: Done): void {
  if (outcome.kind === "answered" || outcome.kind === "unanswered") budget.settle(callId, costOf(outcome));
}

/** Whoever waits need not wait on when it is told to stop, or a newer message came. */
function signalOf({ stop, interrupt }: TurnSignals): AbortSignal {
  return AbortSignal.any([stop, interrupt]);
}
