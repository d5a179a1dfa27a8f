import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { Subscription } from "rxjs";
import type { Handled } from "../../commands/handle.js";
import { pause } from "../../commands/pause.js";
import { ModelError } from "../../commands/ports/index.js";
import { abandonTurn } from "../../commands/threads/abandon-turn.js";
import { resumeTurn } from "../../commands/threads/resume-turn.js";
import { runTurn } from "../../commands/threads/run-turn.js";
import { endLostSummary, summariseIfDue } from "../../commands/threads/summarise.js";
import type { TurnPlace, TurnPorts } from "../../commands/threads/turn-ports.js";
import type { ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { second, type PayloadOf, type RecordedEvent } from "../../domain/shared/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { listOpenCalls } from "../../read-models/budgets/index.js";
import { listPausedTurns, listUnfinishedTurns } from "../../read-models/threads/index.js";
import type { LogReader } from "../event-log/index.js";
import { answerMillis } from "./answer-first.js";

/** How many turns are run at a time; the others wait. */
const turnsAtOnceMax = 100;
/** How often a turn is taken up again after something broke, and how long it waits for that: longer each time. */
const takesMax = 8;
const firstPauseMillis = 200;
const pauseMillisMax = 30 * second;

/** What turns come to, for whoever counts it. */
export interface TurnObserver {
  turnEnded(outcome: string): void;
  modelCalled(outcome: string, inputTokens: number, outputTokens: number): void;
}

interface Run {
  readonly place: TurnPlace;
  readonly stop: AbortController;
  readonly interrupt: AbortController;
  /** It was resumed before it had quite ended. */
  isWantedAgain: boolean;
}

/**
 * Runs every turn that has begun and not ended, also those of before a restart. It acts on what is recorded, and learns of
 * it as everybody does: the log has grown.
 */
export class TurnWorker {
  readonly #runs = new Map<string, Run>();
  readonly #waiting: Run[] = [];
  readonly #summarising = new Map<string, AbortController>();
  readonly #working = new Set<Promise<void>>();
  #growth: Subscription | null = null;
  #seenPosition = 0;
  #active = 0;
  readonly #stopping = new AbortController();

  constructor(
    private readonly ports: TurnPorts,
    private readonly log: LogReader,
    private readonly query: Kysely<ReadModelTables>,
    private readonly observer: TurnObserver,
    private readonly logger: Logger,
  ) {}

  /** Takes up what was left, and from now on whatever begins. */
  async start(): Promise<void> {
    this.#seenPosition = this.log.head().position;
    this.#growth = this.log.grown.subscribe({
      next: (position) => {
        this.#look(position);
      },
      error: () => undefined, // The server ends with it.
    });
    await this.#endLostSummaries();
    await this.#takeUp();
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Leaves every turn as it is. Whoever starts next goes on with it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#growth?.unsubscribe();
    for (const { stop } of this.#runs.values()) stop.abort();
    await Promise.all(this.#working);
  }

  #look(position: number): void {
    const fresh = this.log.fresh(this.#seenPosition);
    this.#seenPosition = position;
    if (fresh !== null) for (const event of fresh.events) this.#notice(event);
    else this.#keep(this.#takeUp()); // Another process wrote, and we are not told what.
  }

  #notice({ threadId, envelope }: RecordedEvent): void {
    const payload = envelope?.payload;
    if (payload?.case === "eventsErased") this.#forget(payload.value);
    if (threadId === null || payload === undefined) return;
    this.#count(payload);
    switch (payload.case) {
      case "turnStarted":
        this.#take({ threadId, turnId: payload.value.turnId });
        break;
      case "turnResumed":
        // Whoever goes on after a restart is at it already.
        if (payload.value.stepEndsAt === undefined) this.#take({ threadId, turnId: payload.value.turnId });
        break;
      case "turnInterruptRequested":
        this.#runs.get(payload.value.turnId)?.interrupt.abort();
        break;
      // Something that a turn waits for may have come about, or its thread is free.
      case "proposedActionStatusChanged":
      case "actionExecutionFinished":
      case "turnPaused":
      case "turnCompleted":
      case "turnFailed":
        this.#keep(this.#resumePaused(threadId));
        break;
      case "threadDeleted":
        for (const { place, stop } of this.#runs.values()) if (place.threadId === threadId) stop.abort();
        this.#summarising.get(threadId)?.abort(new ModelError("cut", "The thread was deleted."));
        break;
      default:
        break;
    }
  }

  /** What a turn waits for may be gone. And of what is forgotten no summary is made. */
  #forget({ ranges, reason }: PayloadOf<"eventsErased">): void {
    this.#keep(this.#takeUp());
    if (reason !== "forget") return;
    for (const { threadId } of ranges.flatMap(({ counts }) => counts)) {
      this.#summarising.get(threadId)?.abort(new ModelError("cut", "What it is about was forgotten."));
    }
  }

  #count(payload: ThreadEvent["payload"]): void {
    switch (payload.case) {
      case "turnCompleted":
        this.observer.turnEnded("completed");
        break;
      case "turnFailed":
        this.observer.turnEnded(payload.value.code);
        break;
      case "modelCallFinished":
        this.observer.modelCalled("finished", Number(payload.value.inputTokens), Number(payload.value.outputTokens));
        break;
      case "modelCallFailed":
        this.observer.modelCalled(payload.value.reason, 0, 0);
        break;
      default:
        break;
    }
  }

  async #endLostSummaries(): Promise<void> {
    for (const row of await listOpenCalls(this.query, "summary")) {
      const { thread_id: threadId, call_id: callId, provider, model, reserved_tokens: chargedTokens } = row;
      await endLostSummary(this.ports, { threadId, callId, provider, model, chargedTokens });
    }
  }

  async #takeUp(): Promise<void> {
    await this.ports.readModels.reached(this.log.head().position);
    const unfinished = await listUnfinishedTurns(this.query);
    for (const row of unfinished) {
      if (row.status === "running") this.#take({ threadId: row.thread_id, turnId: row.turn_id });
    }
    const waiting = unfinished.filter(({ status }) => status === "paused");
    for (const threadId of new Set(waiting.map((row) => row.thread_id))) this.#keep(this.#resumePaused(threadId));
  }

  /** Goes on with the first turn of a thread that has what it waited for. The next one comes when that is over. */
  async #resumePaused(threadId: string): Promise<void> {
    await this.ports.readModels.reached(this.log.head().position);
    await pause(this.ports.timers, answerMillis, this.#stopping.signal); // Whoever has decided is answered first.
    for (const { turn_id: turnId } of await listPausedTurns(this.query, threadId)) {
      const place = { threadId, turnId };
      const resumed = await this.#insist(place, this.#stopping.signal, () => resumeTurn(this.ports, place));
      if (resumed.outcome === "done" || resumed.code === "turn_in_progress") return;
    }
  }

  #take(place: TurnPlace): void {
    if (this.#isStopping) return;
    const running = this.#runs.get(place.turnId);
    if (running !== undefined) {
      running.isWantedAgain = true;
      return;
    }
    const run = { place, stop: new AbortController(), interrupt: new AbortController(), isWantedAgain: false };
    this.#runs.set(place.turnId, run);
    this.#waiting.push(run);
    this.#next();
  }

  #next(): void {
    while (this.#active < turnsAtOnceMax) {
      const run = this.#waiting.shift();
      if (run === undefined) return;
      this.#active += 1;
      this.#keep(this.#run(run));
    }
  }

  async #run(run: Run): Promise<void> {
    const { place, stop } = run;
    try {
      await this.#runToItsEnd(run);
      this.#keep(this.#summarise(place.threadId));
    } catch (error) {
      if (!stop.signal.aborted) this.logger.error({ ...place, err: error }, "a turn was left");
    } finally {
      this.#runs.delete(place.turnId);
      this.#active -= 1;
      if (run.isWantedAgain) this.#take(place);
      if (!this.#isStopping) this.#next();
    }
  }

  /** One at a time for each thread. */
  async #summarise(threadId: string): Promise<void> {
    if (this.#summarising.has(threadId) || this.#isStopping) return;
    const leave = new AbortController();
    this.#summarising.set(threadId, leave);
    try {
      await summariseIfDue(this.ports, threadId, AbortSignal.any([this.#stopping.signal, leave.signal]));
    } finally {
      this.#summarising.delete(threadId);
    }
  }

  async #runToItsEnd({ place, stop, interrupt }: Run): Promise<void> {
    for (let take = 1; take <= takesMax; take++) {
      try {
        const signals = { stop: stop.signal, interrupt: interrupt.signal };
        await runTurn(this.ports, place, signals, take === 1 ? "server_stopped" : "broke_off");
        return;
      } catch (error) {
        stop.signal.throwIfAborted();
        this.logger.error({ ...place, take, err: error }, "a turn broke off");
        await this.#pause(take, stop.signal);
      }
    }
    // Those behind it wait for its end, and nobody comes back to it before the next start.
    await this.#insist(place, stop.signal, () => abandonTurn(this.ports, place));
  }

  /** Tries until it is recorded, or refused for good: nobody else comes back to it. Rejects if it is told to stop. */
  async #insist(place: TurnPlace, stop: AbortSignal, act: () => Promise<Handled>): Promise<Handled> {
    for (let attempt = 1; ; attempt++) {
      stop.throwIfAborted();
      try {
        const handled = await act();
        if (handled.outcome === "done" || handled.code !== "too_much_contention") return handled;
      } catch (error) {
        this.logger.error({ ...place, attempt, err: error }, "what becomes of a turn could not be recorded");
      }
      await this.#pause(attempt, stop);
    }
  }

  #pause(attempt: number, stop: AbortSignal): Promise<void> {
    return pause(this.ports.timers, Math.min(pauseMillisMax, firstPauseMillis * 2 ** (attempt - 1)), stop);
  }

  /** What is under way is waited for when it stops. */
  #keep(work: Promise<void>): void {
    const kept = work
      .catch((error: unknown) => {
        if (!this.#isStopping) this.logger.error({ err: error }, "turns could not be taken up");
      })
      .finally(() => this.#working.delete(kept));
    this.#working.add(kept);
  }
}
