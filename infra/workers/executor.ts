import type { Kysely } from "kysely";
import { setMaxListeners } from "node:events";
import type { Logger } from "pino";
import type { Subscription } from "rxjs";
import { abandonAction, expireAction } from "../../commands/approvals/decide-action.js";
import type { ExecutorPorts } from "../../commands/approvals/executor-ports.js";
import { warnOfExpiry } from "../../commands/approvals/warn-of-expiry.js";
import { pause } from "../../commands/pause.js";
import { hour, toText, type EventType, type Instant } from "../../domain/shared/index.js";
import {
  listDueActions,
  listExpiredActions,
  listExpiringActions,
  listInFlightActions,
  listOrphanedActions,
  nextDueAt,
  nextExpiryAt,
} from "../../read-models/approvals/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { LogReader } from "../event-log/index.js";
import { Executions } from "./executions.js";
import { answerMillis } from "./answer-first.js";
import { byWorker } from "./provenance.js";

/** What makes something due, or not. */
const concerning: ReadonlySet<EventType> = new Set([
  "proposedActionCreated",
  "proposedActionStatusChanged",
  "actionExecutionFinished",
  "threadDeleted",
]);
/** What may leave something pending that is over sooner than was known. */
const concerningPending: ReadonlySet<EventType> = new Set(["proposedActionCreated", "threadDeleted"]);
/** How many actions are looked at in one round; the next round comes at once if there are more. */
const actionsPerRound = 100;
/** How often it looks even if nothing is known to be due: a timer does not follow a clock that is set. */
const lookMillisMax = 30_000;
const pauseMillis = 1_000;
const pauseMillisMin = 200;
/** How long before the end the owner is told that a decision is due, if there was much more time than that. */
const expiringMillis = hour;

/**
 * Carries out what is approved and due, lets expire what nobody decided, and says so before. It acts on what the read
 * models show, which is what the log says; so a restart changes nothing.
 */
export class Executor {
  readonly #stop = new AbortController();
  readonly #executions: Executions;
  #growth: Subscription | null = null;
  #wake: (() => void) | null = null;
  #seenPosition = 0;
  #hasNews = true;
  #isSweepDue = true;
  #sweptAt: Instant = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(
    private readonly ports: ExecutorPorts,
    private readonly log: LogReader,
    private readonly query: Kysely<ReadModelTables>,
    private readonly logger: Logger,
  ) {
    setMaxListeners(0, this.#stop.signal); // Whatever waits listens, and that may be a lot.
    this.#executions = new Executions(ports, logger, this.#stop.signal, () => {
      this.#wakeUp();
    });
  }

  start(): void {
    this.#seenPosition = this.log.head().position;
    this.#growth = this.log.grown.subscribe({
      next: (position) => {
        this.#look(position);
      },
      error: () => undefined, // The server ends with it.
    });
    this.#running = this.#run();
  }

  /** Waits for what is being done, as long as that listens. Whoever starts next asks what became of the rest. */
  async stop(): Promise<void> {
    this.#growth?.unsubscribe();
    this.#stop.abort();
    this.#wake?.();
    await this.#running;
    await this.#executions.ended();
  }

  #look(position: number): void {
    const fresh = this.log.fresh(this.#seenPosition);
    this.#seenPosition = position;
    // What another process has written is not told: it may be anything.
    const has = (types: ReadonlySet<EventType>) => fresh?.events.some(({ type }) => types.has(type)) ?? true;
    if (!has(concerning)) return;
    this.#isSweepDue ||= has(concerningPending);
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#hasNews = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      this.#hasNews = false;
      const millis = await this.#round().catch((error: unknown) => {
        if (!this.#isStopped()) this.logger.error({ err: error }, "a round of the executor broke off");
        return pauseMillis;
      });
      await this.#sleep(millis);
    }
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Does what is due; answers how long until there is more. */
  async #round(): Promise<number> {
    await this.ports.readModels.reached(this.log.head().position);
    await pause(this.ports.timers, answerMillis, this.#stop.signal); // Whoever has recorded what woke us is answered first.
    if (this.#isStopped()) return 0;
    const at = this.ports.clock.now();
    const now = toText(at);
    await this.#takeUpLost();
    const due = { at: now, exceptTools: this.#executions.busyTools, limit: actionsPerRound };
    for (const action of await listDueActions(this.query, due)) this.#executions.begin(action);
    // However much else there is to do: who is woken again and again is never woken by its timer.
    if (this.#isSweepDue || Math.abs(at - this.#sweptAt) >= lookMillisMax) await this.#sweep(at);
    return this.#millisToNext();
  }

  /** Ends what is pending and cannot be decided any more, and warns of what soon will not. */
  async #sweep(at: Instant): Promise<void> {
    this.#isSweepDue = false;
    this.#sweptAt = at;
    const now = toText(at);
    const by = { at, provenance: byWorker("expiry") };
    const expired = await listExpiredActions(this.query, { at: now, limit: actionsPerRound });
    for (const { action_id: actionId } of expired) await expireAction(this.ports, { actionId, ...by });
    const orphaned = await listOrphanedActions(this.query, actionsPerRound);
    for (const { action_id: actionId } of orphaned) await abandonAction(this.ports, { actionId, ...by });
    const before = toText(at + expiringMillis);
    const expiring = await listExpiringActions(this.query, { at: now, before, limit: actionsPerRound });
    for (const { action_id: actionId } of expiring) await warnOfExpiry(this.ports, actionId);
    this.#isSweepDue ||= [expired, orphaned, expiring].some(({ length }) => length === actionsPerRound);
  }

  /** All of them, page after page: those that wait for their lease must not hide the others. */
  async #takeUpLost(): Promise<void> {
    const inFlight = new Set<string>();
    for (let afterPosition = 0; ;) {
      const page = await listInFlightActions(this.query, { afterPosition, limit: actionsPerRound });
      for (const action of page) {
        inFlight.add(action.action_id);
        this.#executions.takeUp(action);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < actionsPerRound) break;
      afterPosition = last.position;
    }
    this.#executions.keepOnly(inFlight);
  }

  async #millisToNext(): Promise<number> {
    const times = [await nextDueAt(this.query), await nextExpiryAt(this.query)];
    const waits = times.flatMap((text) => (text === null ? [] : [Date.parse(text) - this.ports.clock.now()]));
    return Math.max(pauseMillisMin, Math.min(lookMillisMax, ...waits));
  }

  #sleep(millis: number): Promise<void> {
    if (this.#hasNews || this.#isStopped()) return Promise.resolve();
    return new Promise((resolve) => {
      const takeBack = this.ports.timers.after(millis, () => {
        this.#isSweepDue = true;
        resolve();
      });
      this.#wake = () => {
        takeBack();
        this.#wake = null;
        resolve();
      };
    });
  }
}
