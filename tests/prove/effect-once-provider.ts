import { z } from "zod";
import { tool, type Effect, type Tool } from "../../domain/approvals/index.js";
import { RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { LedgerEntry, OutletFault } from "../support/outlet.js";

/** A process that was killed does not come back from wherever it was. */
type Pass = (moment: string) => Promise<void>;

const always: Pass = async () => undefined;

/**
 * A provider without a network in between, for cases that are stopped at one exact moment: what it was made to do is
 * in its ledger at once, whatever the caller is told. It forgets nothing when the caller dies.
 */
export class Provider {
  readonly ledger: LedgerEntry[] = [];
  /** How often it said of something that it was not done, and did it then. */
  denials = 0;
  /** What each post meets, by the key of its action, in order; then nothing. */
  readonly faults = new Map<string, OutletFault[]>();
  readonly #forgotten = new Set<string>();
  readonly #late = new Map<string, { readonly entry: LedgerEntry; readonly isOver: () => boolean }>();

  /** Whether it does nothing for a key that it knows. */
  constructor(private readonly honoursKeys = false) {}

  timesDone(key: string): number {
    return this.ledger.filter((entry) => entry.key === key).length;
  }

  /** What is late happens after it was first asked about, but no later than `isOver` says. */
  async post(entry: LedgerEntry, signal: AbortSignal, isOver: () => boolean = () => true): Promise<Effect> {
    const fault = this.faults.get(entry.key)?.shift() ?? "none";
    this.#arrive(entry.key);
    const isCommitted = ["none", "fail_after", "reset_after", "hang_after", "forget"].includes(fault);
    if (isCommitted) this.#commit(entry);
    if (fault === "late") this.#late.set(entry.key, { entry, isOver });
    if (fault === "forget") this.#forgotten.add(entry.key);
    if (fault.startsWith("hang")) await aborted(signal);
    if (fault === "none") return done;
    if (fault === "refuse") return { outcome: "not_done", reason: "refused", isPassing: false };
    return { outcome: "unknown", reason: fault };
  }

  ask(key: string): Effect {
    if (this.#late.get(key)?.isOver() === true) this.#arrive(key);
    if (this.#forgotten.has(key)) return { outcome: "unknown", reason: "the provider does not say" };
    if (this.timesDone(key) > 0) return done;
    if (this.#late.has(key)) this.denials += 1;
    this.#arrive(key);
    return { outcome: "not_done", reason: "the provider knows nothing", isPassing: true };
  }

  #arrive(key: string): void {
    const late = this.#late.get(key);
    this.#late.delete(key);
    if (late !== undefined) this.#commit(late.entry);
  }

  #commit(entry: LedgerEntry): void {
    if (!this.honoursKeys || this.timesDone(entry.key) === 0) this.ledger.push(entry);
  }
}

export interface ProviderToolOptions {
  readonly version?: number;
  readonly undoSeconds?: number;
  readonly pass?: Pass;
  /** Says of whatever it is asked that it was not done. */
  readonly isReconcileOff?: boolean;
  /** Whether the lease of an action is over, after which nothing arrives any more. */
  readonly isLeaseOver?: (actionId: string) => boolean;
}

/** Posts a text to somebody, once it is approved. */
export function providerTool(provider: Provider, options: ProviderToolOptions = {}): Tool {
  const { version = 1, undoSeconds = 0, pass = always, isReconcileOff = false, isLeaseOver = () => true } = options;
  return tool({
    name: "post",
    version,
    description: "Post a text to somebody.",
    args: z.strictObject({ to: z.string(), text: z.string() }),
    risk: RiskClass.WRITE,
    identity: "none",
    kind: "acting",
    destination: "external",
    isResultUntrusted: false,
    undoSeconds,
    describe: ({ to, text }) => ({ summary: `Post to ${to}`, target: to, recipients: [to], urls: [], body: text }),
    execute: async (args, { actionId, idempotencyKey: key, signal }) => {
      await pass("before the effect");
      const effect = await provider.post({ key, ...args }, signal, () => isLeaseOver(actionId));
      await pass("after the effect");
      return effect;
    },
    reconcile: async (_args, { idempotencyKey }) => {
      await pass("before asking");
      const effect: Effect = isReconcileOff
        ? { outcome: "not_done", reason: "nobody asked", isPassing: true }
        : provider.ask(idempotencyKey);
      await pass("after asking");
      return effect;
    },
  });
}

const done: Effect = {
  outcome: "done",
  result: { text: "Posted.", isTruncated: false, isUntrusted: false, origin: "", hash: new Uint8Array([1]) },
};

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
}
