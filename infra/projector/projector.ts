import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { BehaviorSubject, filter, firstValueFrom, ignoreElements, type Observable, type Subscription } from "rxjs";
import type { ReadModels } from "../../commands/ports/index.js";
import type { RecordedEvent } from "../../domain/shared/index.js";
import type { Projection } from "../../projections/shared/projection.js";
import type { LogReader } from "../event-log/index.js";
import { Applier, readerFor } from "./applier.js";
import { dropStrangers } from "./bookkeeping.js";
import { rebuild, whenFree, type RebuildOptions } from "./rebuild.js";
import { dropAllShadows } from "./shadow.js";
import { staleProjections } from "./stale.js";
import { isPassing, type ReadModelStore } from "./store.js";
import { served } from "./table-writer.js";

/** Where no rows change, checkpoints are saved only when they lag behind by this many events. */
const checkpointLagMax = 10_000;
const retryMillis = 10;

/** Keeps the read models up with the log: inline after each commit, so that whoever wrote reads what they wrote. */
export class Projector implements ReadModels {
  readonly #applier: Applier;
  readonly #read: ReturnType<typeof readerFor>;
  /** The last position that every projection has seen; errors when one of them has stopped. */
  readonly #reached = new BehaviorSubject(0);
  #growth: Subscription | undefined;
  #losses: Subscription | undefined;
  /** While it starts, every step is saved: the next start shall not go the same way again. */
  #lagMax = 1;
  #isBehind = false;
  #hasStopped = false;

  constructor(
    private readonly log: LogReader,
    private readonly store: ReadModelStore,
    private readonly projections: readonly Projection[],
    private readonly logger: Logger,
  ) {
    this.#applier = new Applier(store, served);
    this.#read = readerFor(log, projections);
  }

  /** Rebuilds what has to be, catches up with the log, and stays there. */
  async start(options: Pick<RebuildOptions, "signal" | "onProgress"> = {}): Promise<void> {
    await whenFree(() => {
      this.store.transaction(() => {
        if (dropStrangers(this.store.db, this.projections)) this.store.mustForget();
      });
    });
    const stale = staleProjections(this.log, this.store, this.projections);
    if (stale.length > 0) {
      this.logger.info({ projections: stale.map(({ name }) => name) }, "rebuilding read models from the log");
      await rebuild(this.log, this.store, stale, options);
    }
    this.store.forgetDeleted(); // The last process may not have come to it.
    this.#reached.next(this.#oldestCheckpoint());
    this.#losses = this.store.lost.subscribe((error) => {
      if (this.#startOver(error)) this.#keepUp();
    });
    this.#growth = this.log.grown.subscribe({
      next: () => {
        this.#keepUp();
      },
      error: (error: unknown) => {
        this.#stop(error);
      },
    });
    this.#keepUp();
    await this.reached(this.log.head().position);
    this.#lagMax = checkpointLagMax;
  }

  /** The last position that every projection has seen. */
  get position(): number {
    return this.#reached.value;
  }

  async reached(position: number): Promise<void> {
    if (!this.#hasStopped && this.#reached.value >= position) return;
    await firstValueFrom(this.#reached.pipe(filter((reached) => reached >= position)));
  }

  /** Emits nothing; errors when a projection could not go on. */
  get stopped(): Observable<never> {
    return this.#reached.pipe(ignoreElements());
  }

  close(): void {
    this.#hasStopped = true;
    this.#growth?.unsubscribe();
    this.#losses?.unsubscribe();
    this.#reached.complete();
  }

  /** One portion at once, which is all there is after a commit; a longer way in steps, so that others get their turn. */
  #keepUp(): void {
    if (!this.#isBehind) void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    this.#isBehind = true;
    for (;;) {
      const progress = this.#tryAdvance();
      if (progress === "arrived" || progress === "stopped") break;
      await pause(progress === "hindered" ? retryMillis : 0);
    }
    this.#isBehind = false;
  }

  #tryAdvance(): "arrived" | "advanced" | "hindered" | "stopped" {
    if (this.#hasStopped) return "stopped";
    try {
      return this.#advance() ? "arrived" : "advanced";
    } catch (error) {
      return this.#startOver(error) ? "hindered" : "stopped";
    }
  }

  /** Applies one portion; answers whether the end of the log is reached. */
  #advance(): boolean {
    const { events, position, hash, endPosition } = this.#read(this.#reached.value);
    if (events.length > 0 || position - this.#oldestCheckpoint() >= this.#lagMax) {
      this.store.change(() => {
        this.#apply(events);
        for (const projection of this.#behind(position)) this.store.saveCheckpoint(projection, position, hash);
      });
      this.store.forgetDeleted();
    }
    this.#reached.next(position);
    return position >= endPosition;
  }

  #apply(events: readonly RecordedEvent[]): void {
    for (const event of events) {
      if (event.type === "eventsErased") dropAllShadows(this.store.db);
      this.#applier.apply(event, this.#behind(event.position));
    }
  }

  /** Those that have not seen this position. A rebuild may have brought tables that are further on than we are. */
  #behind(position: number): Projection[] {
    const checkpoints = this.store.checkpoints();
    return this.projections.filter(({ name }) => position > (checkpoints.get(name)?.position ?? 0));
  }

  #oldestCheckpoint(): number {
    const checkpoints = this.store.checkpoints();
    return Math.min(...this.projections.map(({ name }) => checkpoints.get(name)?.position ?? 0));
  }

  /** What was applied and not committed is undone and has to be applied again; answers whether that makes sense. */
  #startOver(error: unknown): boolean {
    if (!isPassing(error)) {
      this.#stop(error);
      return false;
    }
    this.logger.warn({ file: this.store.file, error: String(error) }, "read models could not be written; trying again");
    this.#reached.next(this.#oldestCheckpoint());
    return true;
  }

  #stop(error: unknown): void {
    this.#hasStopped = true;
    this.#growth?.unsubscribe();
    this.#reached.error(error);
  }
}
