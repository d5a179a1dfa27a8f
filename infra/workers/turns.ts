import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { Subscription } from "rxjs";
import { abandonTurn } from "../../commands/threads/abandon-turn.js";
import { runTurn } from "../../commands/threads/run-turn.js";
import { summariseIfDue } from "../../commands/threads/summarise.js";
import type { TurnPlace, TurnPorts } from "../../commands/threads/turn-ports.js";
import type { RecordedEvent } from "../../domain/shared/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { listUnfinishedTurns } from "../../read-models/threads/index.js";
import type { LogReader } from "../event-log/index.js";

/** How many turns are run at a time; the others wait. */
const turnsAtOnceMax = 100;
/** How often a turn is taken up again after something broke, and how long it waits for that. */
const takesMax = 8;
const firstPauseMillis = 100;

/** What turns come to, for whoever counts it. */
export interface TurnObserver {
  turnEnded(outcome: string): void;
  modelCalled(outcome: string, inputTokens: number, outputTokens: number): void;
}

interface Run {
  readonly place: TurnPlace;
  readonly stop: AbortController;
  readonly interrupt: AbortController;
}

/**
 * Runs every turn that has begun and not ended, also those of before a restart. It acts on what is recorded, and learns of
 * it as everybody does: the log has grown.
 */
export class TurnWorker {
  readonly #runs = new Map<string, Run>();
  readonly #waiting: Run[] = [];
  readonly #summarising = new Set<string>();
  readonly #working = new Set<Promise<void>>();
  #growth: Subscription | null = null;
  #seenPosition = 0;
  #active = 0;
  #isStopping = false;

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
    await this.#takeUp();
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Leaves every turn as it is. Whoever starts next goes on with it. */
  async stop(): Promise<void> {
    this.#isStopping = true;
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

  #notice(event: RecordedEvent): void {
    const { threadId, envelope } = event;
    const payload = envelope?.payload;
    switch (payload?.case) {
      case "turnStarted":
        if (threadId !== null) this.#take({ threadId, turnId: payload.value.turnId });
        break;
      case "turnInterruptRequested":
        this.#runs.get(payload.value.turnId)?.interrupt.abort();
        break;
      case "threadDeleted":
        for (const { place, stop } of this.#runs.values()) if (place.threadId === threadId) stop.abort();
        break;
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

  async #takeUp(): Promise<void> {
    await this.ports.readModels.reached(this.log.head().position);
    for (const row of await listUnfinishedTurns(this.query)) {
      if (row.status === "running") this.#take({ threadId: row.thread_id, turnId: row.turn_id });
    }
  }

  #take(place: TurnPlace): void {
    if (this.#isStopping || this.#runs.has(place.turnId)) return;
    const run = { place, stop: new AbortController(), interrupt: new AbortController() };
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
      if (!stop.signal.aborted) await this.#summarise(place.threadId, stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) this.logger.error({ ...place, err: error }, "a turn was left");
    } finally {
      this.#runs.delete(place.turnId);
      this.#active -= 1;
      if (!this.#isStopping) this.#next();
    }
  }

  /** One at a time for each thread. */
  async #summarise(threadId: string, stop: AbortSignal): Promise<void> {
    if (this.#summarising.has(threadId)) return;
    this.#summarising.add(threadId);
    try {
      await summariseIfDue(this.ports, threadId, stop);
    } finally {
      this.#summarising.delete(threadId);
    }
  }

  async #runToItsEnd({ place, stop, interrupt }: Run): Promise<void> {
    for (let take = 1; take <= takesMax; take++) {
      try {
        await runTurn(this.ports, place, { stop: stop.signal, interrupt: interrupt.signal });
        return;
      } catch (error) {
        stop.signal.throwIfAborted();
        this.logger.error({ ...place, take, err: error }, "a turn broke off");
        await this.#pause(firstPauseMillis * 2 ** take, stop.signal);
      }
    }
    await abandonTurn(this.ports, place);
  }

  #pause(millis: number, stop: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const takeBack = this.ports.timers.after(millis, resolve);
      stop.addEventListener("abort", () => {
        takeBack();
        resolve();
      });
    });
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
