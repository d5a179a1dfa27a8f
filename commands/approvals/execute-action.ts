import { leaseAfter, leaseMillisLeft, leaseMillisOf, limitsOf, type Effect } from "../../domain/approvals/index.js";
import type { Instant } from "../../domain/shared/index.js";
import { pause } from "../pause.js";
import { beginExecution, type Begun } from "./begin-execution.js";
import type { ExecutorPorts } from "./executor-ports.js";
import { settleExecution } from "./settle-execution.js";
import { withinTime } from "./within-time.js";

/** How often and how long apart the provider is asked about an unclear attempt. */
const reconcilesMax = 3;
const firstReconcileMillis = 500;

const stopped: Effect = { outcome: "unknown", reason: "The server was stopped in the middle of it." };
const notBegun: Effect = {
  outcome: "not_done",
  reason: "The server was stopped before it was begun.",
  isPassing: true,
};
const unanswered: Effect = { outcome: "unknown", reason: "It took longer than it may, or the tool broke down." };

/**
 * Carries out an approved action that is due, once: the intent is recorded, then it is done, then its outcome is recorded.
 * One whose intent has no outcome, because the server was stopped, is not done again: the provider is asked.
 *
 * A provider that knows nothing of it is believed only after the lease: until then the request may be on its way. So it
 * answers how long to wait before this is called again; null if there is nothing to wait for. Whoever has waited says so.
 */
export async function executeAction(
  ports: ExecutorPorts,
  actionId: string,
  hasWaited: boolean,
  stop: AbortSignal,
): Promise<number | null> {
  const place = await ports.lookups.action(actionId);
  if (place === null) return null;
  const begun = await beginExecution(ports, actionId, place, stop);
  if (begun === null) return null;
  const { tool } = begun;
  const attempted = begun.isNew ? await attempt(ports, begun, stop) : stopped;
  if (attempted.outcome !== "unknown") {
    await settleExecution(ports, { actionId, place, tool, effect: attempted, by: "execution" });
    return null;
  }
  const leaseUntil = begun.isNew ? leaseAfter(begun.leaseUntil, ports.clock.now()) : begun.leaseUntil;
  const { found, askedAt } = await reconcile(ports, begun, stop);
  const leaseMillis = leaseMillisOf(limitsOf(tool).attemptMillisMax);
  const isEarly = !hasWaited && leaseMillisLeft(leaseUntil, askedAt, leaseMillis) > 0;
  if (found?.outcome === "not_done" && isEarly) return leaseMillisLeft(leaseUntil, ports.clock.now(), leaseMillis);
  await settleExecution(ports, { actionId, place, tool, effect: found ?? attempted, by: "reconciliation" });
  return null;
}

/** Does it, unless it is told to stop just before: then it has certainly not happened. */
async function attempt(ports: ExecutorPorts, begun: Begun, stop: AbortSignal): Promise<Effect> {
  if (stop.aborted) return notBegun;
  const effect = await ask(ports, begun, "execute", stop);
  stop.throwIfAborted();
  return effect;
}

/** Asks the provider until it knows; null if it does not. */
async function reconcile(
  ports: ExecutorPorts,
  begun: Begun,
  stop: AbortSignal,
): Promise<{ readonly found: Effect | null; readonly askedAt: Instant }> {
  for (let asked = 0; asked < reconcilesMax; asked++) {
    await pause(ports.timers, firstReconcileMillis * 2 ** asked, stop);
    stop.throwIfAborted();
    const askedAt = ports.clock.now();
    const found = await ask(ports, begun, "reconcile", stop);
    stop.throwIfAborted();
    if (found.outcome !== "unknown") return { found, askedAt };
  }
  return { found: null, askedAt: ports.clock.now() };
}

/** Hands the tool exactly what was approved. Whatever is thrown is not clear, and so is what takes too long. */
function ask(
  ports: ExecutorPorts,
  { plan, tool, attempt }: Begun,
  what: "execute" | "reconcile",
  stop: AbortSignal,
): Promise<Effect> {
  const { actionId, idempotencyKey, identity, args } = plan;
  const { attemptMillisMax } = limitsOf(tool);
  return withinTime(ports, stop, attemptMillisMax, unanswered, async (signal) => {
    const effect = await tool[what](args, { actionId, idempotencyKey, identity, attempt, signal });
    return { ...effect }; // Also if it is nothing at all: what makes no sense cannot be recorded, and is unclear.
  });
}
