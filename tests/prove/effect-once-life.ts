import { filter, firstValueFrom, startWith } from "rxjs";
import type { Editing } from "../../commands/approvals/edit-action.js";
import type { ExecutorPorts } from "../../commands/approvals/executor-ports.js";
import { actionStream } from "../../commands/approvals/streams.js";
import type { Append, EventLog } from "../../commands/ports/index.js";
import {
  evolveAction,
  initialAction,
  Toolbox,
  type Action,
  type Hash,
  type Tool,
} from "../../domain/approvals/index.js";
import type { Fact } from "../../domain/shared/index.js";
import { lookupsIn } from "../../infra/lookups/actions.js";
import { systemHash } from "../../infra/ports/system-hash.js";
import { Executor } from "../../infra/workers/executor.js";
import { openBackend, quiet, type Backend } from "../support/backend.js";
import type { FastTime } from "./effect-once-time.js";

const approvalMillis = 24 * 3_600_000;
const streamEventsMax = 1_000;

/** Counts the moments of a life, and ends it at one of them: whoever comes there, or anywhere later, never goes on. */
class Fate {
  isDead = false;
  diedAt: string | null = null;
  readonly died: Promise<void>;
  #moments = 0;
  #die: () => void = () => undefined;

  /** `diesAt` counts from 1; 0 for a life without such an end. */
  constructor(private readonly diesAt: number) {
    this.died = new Promise((resolve) => (this.#die = resolve));
  }

  readonly pass = (moment: string): Promise<void> => {
    if (!this.isDead && ++this.#moments !== this.diesAt) return Promise.resolve();
    if (!this.isDead) this.diedAt = moment;
    this.isDead = true;
    this.#die();
    return never;
  };
}

const never = new Promise<void>(() => undefined);

export interface LifeOptions {
  readonly time: FastTime;
  /** Given how a moment is passed, so that also a tool can be stopped in the middle. */
  readonly tools: (pass: Fate["pass"]) => readonly Tool[];
  readonly diesAt?: number;
  readonly hash?: Hash;
  readonly policyVersion?: string;
  /** What the executor and the commands write to, if not the log itself. */
  readonly logOf?: (log: EventLog) => EventLog;
}

/**
 * The commands and the executor of one process, on real files. It may be ended at a chosen moment: from then on nothing
 * that it began goes on, as after a kill, and the next life finds what was written.
 */
export class Life {
  private constructor(
    readonly backend: Backend,
    readonly ports: ExecutorPorts & Editing,
    private readonly executor: Executor,
    private readonly fate: Fate,
    private readonly writing: Set<Promise<unknown>>,
  ) {}

  static async begin(directory: string, options: LifeOptions): Promise<Life> {
    const { time, tools, diesAt = 0, hash = systemHash, policyVersion = "p1", logOf = (log) => log } = options;
    const fate = new Fate(diesAt);
    const backend = await openBackend(directory);
    const writing = new Set<Promise<unknown>>();
    const readModels = { reached: (position: number) => (fate.isDead ? never : backend.projector.reached(position)) };
    const ports = {
      log: mortal(logOf(backend.log), fate, writing),
      readModels,
      lookups: lookupsIn(backend.log, readModels, backend.store.query),
      ids: backend.ids,
      clock: time.clock,
      timers: time.timers(() => fate.isDead),
      toolbox: new Toolbox(tools(fate.pass)),
      hash,
      policyVersion,
      approvalMillis,
      onTrouble: () => undefined,
      isDiskTrouble: () => true,
    };
    const executor = new Executor(ports, backend.log, backend.store.query, quiet);
    return new Life(backend, ports, executor, fate, writing);
  }

  /** From here on it does what is due. */
  start(): void {
    this.executor.start();
  }

  get diedAt(): string | null {
    return this.fate.diedAt;
  }

  /** null if it died on the way. */
  async orDeath<T>(work: Promise<T>): Promise<T | null> {
    return Promise.race([work, this.fate.died.then(() => null)]);
  }

  action(actionId: string): Action {
    const events = this.backend.log.readStream(actionStream(actionId), 0, streamEventsMax);
    return events.reduce((state, { type, payload }) => {
      return evolveAction(state, { case: type, value: payload } as Fact);
    }, initialAction);
  }

  /** Whether an attempt that was begun cannot arrive any more. */
  isLeaseOver(actionId: string): boolean {
    const action = this.action(actionId);
    const isIntended = action.status === "approved" && action.execution.state === "intended";
    return !isIntended || this.ports.clock.now() >= action.execution.leaseUntil;
  }

  /** Resolves when nothing more will become of these, or it is dead. */
  async settled(actionIds: readonly string[]): Promise<void> {
    const isOver = () => this.fate.isDead || actionIds.every((actionId) => isSettled(this.action(actionId)));
    const { grown } = this.backend.log;
    const look = grown.pipe(startWith(0), filter(isOver));
    await this.orDeath(firstValueFrom(look));
  }

  /** Lets go of the files. Whoever was killed is not asked to stop. */
  async end(): Promise<void> {
    if (!this.fate.isDead) await this.orDeath(this.executor.stop()); // It may still die of it.
    await Promise.allSettled(this.writing);
    this.backend.close();
  }
}

function isSettled(action: Action): boolean {
  if (action.status !== "approved") return action.status !== "none" && action.status !== "pending";
  return action.execution.state === "unknown" || action.execution.state === "failed";
}

/** The real log, whose callers may die just before or just after something is recorded. */
function mortal(log: EventLog, fate: Fate, writing: Set<Promise<unknown>>): EventLog {
  return {
    append: async (append) => {
      const what = whatIsWritten(append);
      await fate.pass(`before ${what}`);
      const appended = log.append(append);
      writing.add(appended);
      const result = await appended.finally(() => writing.delete(appended));
      await fate.pass(`after ${what}`);
      return result;
    },
    recall: (command) => log.recall(command),
    streamVersion: (stream) => log.streamVersion(stream),
    readStream: (stream, afterVersion, limit) => log.readStream(stream, afterVersion, limit),
  };
}

function whatIsWritten({ writes }: Append): string {
  const [first] = writes.flatMap(({ facts }) => facts);
  switch (first?.case) {
    case "proposedActionStatusChanged":
      return "the approval";
    case "actionExecutionIntended":
      return "the intent";
    case "actionExecutionFinished":
      return "the outcome";
    default:
      return "a notice";
  }
}
