import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { BehaviorSubject, filter, firstValueFrom, ignoreElements, type Observable, type Subscription } from "rxjs";
import type { ReadModels } from "../../commands/ports/index.js";
import type { RecordedEvent } from "../../domain/shared/index.js";
import type { Projection } from "../../projections/shared/projection.js";
import type { LogReader } from "../event-log/index.js";
import { Applier, readerFor } from "./applier.js";
import { rebuild, type RebuildOptions } from "./rebuild.js";
import { isPassing, type ReadModelStore } from "./store.js";
import { served } from "./table-writer.js";

/** A checkpoint may lag behind by this many events that its projection does not handle. */
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
    if (events.length > 0) {
      this.store.change(() => {
        for (const projection of this.#apply(events)) this.store.saveCheckpoint(projection, position, hash);
      });
      this.store.forgetDeleted();
    } else if (position - this.#oldestCheckpoint() >= checkpointLagMax) {
      this.store.change(() => {
        for (const projection of this.projections) this.store.saveCheckpoint(projection, position, hash);
      });
    }
    this.#reached.next(position);
    return position >= endPosition;
  }

  /** Answers which projections took notice. */
  #apply(events: readonly RecordedEvent[]): Set<Projection> {
    const touched = new Set<Projection>();
    // A rebuild may have brought tables that are further on than these.
    const checkpoints = this.store.checkpoints();
    for (const event of events) {
      const due = this.projections.filter(({ name }) => event.position > (checkpoints.get(name)?.position ?? 0));
      for (const projection of this.#applier.apply(event, due)) touched.add(projection);
    }
    return touched;
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

/** Those whose rows cannot be trusted: never built, of another version, or made from another log than this. */
export function staleProjections(
  log: LogReader,
  store: ReadModelStore,
  projections: readonly Projection[],
): Projection[] {
  const checkpoints = store.checkpoints();
  return projections.filter(({ name, version }) => {
    const checkpoint = checkpoints.get(name);
    return checkpoint?.version !== version || log.hashAt(checkpoint.position) !== checkpoint.hash;
  });
}
