import type { Logger } from "pino";
import { executeAction } from "../../commands/approvals/execute-action.js";
import type { ExecutorPorts } from "../../commands/approvals/executor-ports.js";
import { pause } from "../../commands/pause.js";
import { defaultToolLimits, limitsOf } from "../../domain/approvals/index.js";
import type { Instant } from "../../domain/shared/index.js";
import type { ActionToCarryOut } from "../../read-models/approvals/index.js";

/** How many actions are carried out at a time, and how many of them may be one tool's; the others wait. */
const executionsMax = 40;
const executionsPerToolMax = executionsMax / 2;
/** A tool with so many attempts of which nobody knows yet gets no more to do. */
const leasesPerToolMax = 100;
const pauseMillis = 1_000;

/** An attempt that may still be under way at the provider. */
interface Lease {
  readonly tool: string;
  readonly until: Instant;
  isOver: boolean;
}

/** What is being carried out, and what waits for the end of its lease. That needs nobody, and takes no place. */
export class Executions {
  readonly #executing = new Map<string, { readonly tool: string; readonly work: Promise<void> }>();
  readonly #leases = new Map<string, Lease>();

  constructor(
    private readonly ports: ExecutorPorts,
    private readonly logger: Logger,
    private readonly stop: AbortSignal,
    private readonly onLeaseOver: () => void,
  ) {}

  /** Tools of which nothing more is begun now. */
  get busyTools(): readonly string[] {
    return this.ports.toolbox.all.flatMap(({ name }) => (this.#isBusy(name) ? [name] : []));
  }

  begin(action: ActionToCarryOut): void {
    if (!this.#isBusy(action.tool)) this.#execute(action, false);
  }

  /** Asks what became of an action whose intent has no outcome, once its lease is over. What is under way is not lost. */
  takeUp(action: ActionToCarryOut): void {
    const lease = this.#leases.get(action.action_id);
    const isOver = lease !== undefined && (lease.isOver || this.ports.clock.now() >= lease.until);
    if (lease === undefined || isOver) this.#execute(action, isOver);
  }

  /** Whatever is not in flight any more does not wait either. */
  keepOnly(inFlight: ReadonlySet<string>): void {
    for (const actionId of this.#leases.keys()) if (!inFlight.has(actionId)) this.#leases.delete(actionId);
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#executing.values()].map(({ work }) => work));
  }

  /** One at a time for each action, and for each idempotency key: who comes second sees that it was used. */
  #execute({ action_id: actionId, tool, idempotency_key }: ActionToCarryOut, hasWaited: boolean): void {
    const key = `${tool} ${idempotency_key}`;
    if (this.#executing.has(key) || !this.#hasPlace(tool) || this.stop.aborted) return;
    this.#leases.delete(actionId);
    const work = executeAction(this.ports, actionId, hasWaited, this.stop)
      .then((leaseMillis) => {
        if (leaseMillis !== null) this.#wait(actionId, tool, leaseMillis);
      })
      .catch(async (error: unknown) => {
        if (this.stop.aborted) return;
        this.logger.error({ actionId, err: error }, "an action was left, and is looked at again");
        await pause(this.ports.timers, pauseMillis, this.stop);
      })
      .finally(() => this.#executing.delete(key));
    this.#executing.set(key, { tool, work });
  }

  /** By the clock or by the timer, whichever comes first: a clock may be set. */
  #wait(actionId: string, tool: string, millis: number): void {
    const lease: Lease = { tool, until: this.ports.clock.now() + millis, isOver: false };
    this.#leases.set(actionId, lease);
    void pause(this.ports.timers, millis, this.stop).then(() => {
      lease.isOver = true;
      this.onLeaseOver();
    });
  }

  #isBusy(tool: string): boolean {
    return !this.#hasPlace(tool) || countOf(this.#leases, tool) >= leasesPerToolMax;
  }

  #hasPlace(tool: string): boolean {
    const known = this.ports.toolbox.find(tool);
    const { atOnceMax } = known?.kind === "acting" ? limitsOf(known) : defaultToolLimits;
    const placesMax = Math.min(atOnceMax, executionsPerToolMax);
    return this.#executing.size < executionsMax && countOf(this.#executing, tool) < placesMax;
  }
}

function countOf(held: ReadonlyMap<string, { readonly tool: string }>, tool: string): number {
  let count = 0;
  for (const one of held.values()) if (one.tool === tool) count += 1;
  return count;
}
