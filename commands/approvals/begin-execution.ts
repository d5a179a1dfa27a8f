import {
  bindingOf,
  giveUp,
  initialAction,
  intend,
  isSame,
  isTooLate,
  keyConflict,
  limitsOf,
  settledArgs,
  type ActingTool,
  type Action,
  type ActionPlan,
  type Effect,
} from "../../domain/approvals/index.js";
import { accept, refuse, type Decision, type Instant } from "../../domain/shared/index.js";
import { handle } from "../handle.js";
import type { ActionPlace } from "../ports/index.js";
import { about, isThreadOpen, loadAction } from "./decide-action.js";
import { executor, type ExecutorPorts } from "./executor-ports.js";
import { settled } from "./settle-execution.js";
import { withinTime } from "./within-time.js";

const gone: Effect = { outcome: "unknown", reason: "There is no such tool any more, or it takes other arguments." };
const unansweredReason = "It could not be found out whether the tool can act as that identity.";

/** An execution whose intent is recorded. */
export interface Begun {
  readonly plan: ActionPlan;
  readonly tool: ActingTool<unknown>;
  readonly attempt: number;
  readonly leaseUntil: Instant;
  /** The intent was recorded just now, and not before a restart. */
  readonly isNew: boolean;
}

type Approved = Extract<Action, { status: "approved" }>;

/** Records the intent, if everything is still as it was approved; null if there is nothing to carry out. */
export async function beginExecution(
  ports: ExecutorPorts,
  actionId: string,
  place: ActionPlace,
  stop: AbortSignal,
): Promise<Begun | null> {
  const usedBy = place.keyUsedBy === actionId ? null : place.keyUsedBy;
  const unavailable = await whyUnavailable(ports, actionId, stop);
  stop.throwIfAborted();
  const handled = await handle(ports, {
    at: ports.clock.now(),
    decide: (load) => {
      const at = ports.clock.now();
      const action = loadAction(load, actionId);
      if (action.status !== "approved") return refuse("action_not_approved");
      const where = about(actionId, place.threadId, executor, place.turnId);
      const tool = actingTool(ports, action);
      if (action.execution.state === "intended") {
        // What has begun may have happened, and nobody is left who could find out.
        if (tool === null || !areArgsAsApproved(ports, tool, action.plan))
          return settled(ports, load, { actionId, place, effect: gone, by: "execution" });
        return { ...where, decision: accept() };
      }
      if (tool === null) return { ...where, decision: giveUp(action, "There is no such tool any more.") };
      if (!isThreadOpen(load, place.threadId)) return { ...where, decision: giveUp(action, "Its thread was deleted.") };
      if (usedBy !== null) return { ...where, decision: inConflict(action, loadAction(load, usedBy)) };
      const reason = whatChanged(ports, tool, action, at) ?? unavailable;
      if (reason !== null) return { ...where, decision: giveUp(action, reason) };
      return { ...where, decision: intend(action, at, limitsOf(tool).attemptMillisMax) };
    },
  });
  if (handled.outcome === "refused") return null;
  const isNew = handled.events.some(({ type }) => type === "actionExecutionIntended");
  const action = await look(ports, actionId);
  const tool = action.status === "approved" ? actingTool(ports, action) : null;
  if (action.status !== "approved" || action.execution.state !== "intended" || tool === null) return null;
  const { attempts: attempt, leaseUntil } = action.execution;
  return { plan: action.plan, tool, attempt, leaseUntil, isNew };
}

/** How it stands. */
async function look(ports: ExecutorPorts, actionId: string): Promise<Action> {
  let action = initialAction;
  await handle(ports, {
    at: ports.clock.now(),
    decide: (load) => {
      action = loadAction(load, actionId);
      return [];
    },
  });
  return action;
}

function actingTool({ toolbox }: ExecutorPorts, { plan }: Approved): ActingTool<unknown> | null {
  const tool = toolbox.find(plan.tool);
  return tool?.kind === "acting" ? tool : null;
}

/** Whoever is not sure that it can act now does not begin. */
async function whyUnavailable(ports: ExecutorPorts, actionId: string, stop: AbortSignal): Promise<string | null> {
  const action = await look(ports, actionId);
  if (action.status !== "approved" || action.execution.state !== "due") return null;
  const tool = actingTool(ports, action);
  if (tool?.whyUnavailable === undefined) return null;
  const { attemptMillisMax } = limitsOf(tool);
  const ask = async () => (await tool.whyUnavailable?.(action.plan.identity)) ?? null;
  return withinTime<string | null>(ports, stop, attemptMillisMax, unansweredReason, ask);
}

/** Who comes second does nothing. */
function inConflict(action: Approved, first: Action): Decision {
  const failed = giveUp(action, "idempotency_conflict");
  return failed.outcome === "refused" ? failed : accept(keyConflict(action.plan, first), ...failed.facts);
}

/** An approval is good for exactly what was approved, and for about then. */
function whatChanged(ports: ExecutorPorts, tool: ActingTool<unknown>, action: Approved, at: Instant): string | null {
  const { plan } = action;
  const { hash, policyVersion } = ports;
  if (isTooLate(action, at)) return "It was approved too long ago.";
  if (tool.version !== plan.toolVersion) return "The tool is another version than the one that was approved.";
  if (plan.policyVersion !== policyVersion) return "The policy is another one than the one it was approved under.";
  const { args, identity } = plan;
  const binding = bindingOf(hash, { tool: tool.name, toolVersion: tool.version, args, identity, policyVersion });
  if (!isSame(binding, plan.argsHash)) return "The arguments are not those that were approved.";
  return areArgsAsApproved(ports, tool, plan)
    ? null
    : "The tool makes something else of these arguments, or refuses them.";
}

/** What a tool is handed is what was approved, and not what its schema would make of that. */
function areArgsAsApproved({ hash }: ExecutorPorts, tool: ActingTool<unknown>, { args }: ActionPlan): boolean {
  const made = settledArgs(tool, args);
  return made !== null && isSame(hash(made), hash(args));
}
