import {
  bindingOf,
  giveUp,
  intend,
  isSame,
  settle,
  type ActingTool,
  type Action,
  type ActionPlan,
  type Effect,
  type Hash,
  type SettledBy,
  type Toolbox,
} from "../../domain/approvals/index.js";
import { withinTokens } from "../../domain/budgets/index.js";
import { notificationQueued, type Notice } from "../../domain/notifications/index.js";
import { accept, refuse, type Decision, type NewFact, type Refusal } from "../../domain/shared/index.js";
import { ContentTrust, EventSource } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { handle, type Handled, type Load, type Proposal } from "../handle.js";
import { tellOwner } from "../notifications/tell-owner.js";
import type { ActionPlace, Clock, Ids, Provenance, Timers } from "../ports/index.js";
import { pause } from "../pause.js";
import { about, isThreadOpen, loadAction, type Deciding } from "./decide-action.js";

/** How long one attempt may take, and how often and how long apart the provider is asked about an unclear one. */
const attemptMillisMax = 60_000;
const resultTokensMax = 16_000;
const goneReason = "There is no such tool any more, or it takes other arguments.";
const reconcilesMax = 3;
const firstReconcileMillis = 500;

export interface ExecutorPorts extends Deciding {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly toolbox: Toolbox;
  readonly hash: Hash;
  readonly policyVersion: string;
  readonly onTrouble: (error: unknown, doing: string) => void;
}

const executor: Provenance = {
  source: EventSource.TOOL_EXECUTOR,
  contentTrust: ContentTrust.TRUSTED_VALIDATED,
  actor: { kind: ActorKind.WORKER, id: "executor" },
};

/**
 * Carries out an approved action that is due, once: the intent is recorded, then it is done, then its outcome is recorded.
 * One whose intent has no outcome, because the server was stopped, is not done again: the provider is asked.
 */
export async function executeAction(ports: ExecutorPorts, actionId: string, stop: AbortSignal): Promise<void> {
  const place = await ports.lookups.action(actionId);
  if (place === null) return;
  const firstUse = await ports.lookups.firstUse(place.tool, place.idempotencyKey);
  const isKeyTaken = firstUse !== null && firstUse !== actionId;
  const begun = await begin(ports, actionId, place, isKeyTaken);
  if (begun === null) return;
  const { plan, tool, attempt, isNew } = begun;
  const intent = {
    actionId,
    idempotencyKey: plan.idempotencyKey,
    identity: plan.identity,
    attempt,
  };
  const args = tool.args.parse(plan.args);
  const attempted: Effect = isNew
    ? await within(ports, stop, (signal) => tool.execute(args, { ...intent, signal }))
    : { outcome: "unknown", reason: "The server was stopped in the middle of it." };
  stop.throwIfAborted();
  const isClear = attempted.outcome !== "unknown";
  const found = isClear
    ? attempted
    : await reconcile(ports, stop, (signal) => tool.reconcile(args, { ...intent, signal }));
  const effect = found ?? attempted;
  await record(ports, actionId, place, told(effect, tool), isClear ? "execution" : "reconciliation");
}

/** What the thread is told: no more than it should, and as untrusted as the tool says that it is. */
function told(effect: Effect, { isResultUntrusted }: ActingTool<unknown>): Effect {
  if (effect.outcome !== "done") return effect;
  const { result } = effect;
  const text = withinTokens(result.text.toWellFormed(), resultTokensMax);
  const isTruncated = result.isTruncated || text.length < result.text.length;
  return { ...effect, result: { ...result, text, isTruncated, isUntrusted: result.isUntrusted || isResultUntrusted } };
}

/** Asks the provider until it knows; null if it does not. */
async function reconcile(
  ports: ExecutorPorts,
  stop: AbortSignal,
  ask: (signal: AbortSignal) => Promise<Effect>,
): Promise<Effect | null> {
  for (let asked = 0; asked < reconcilesMax; asked++) {
    await pause(ports.timers, firstReconcileMillis * 2 ** asked, stop);
    stop.throwIfAborted();
    const found = await within(ports, stop, ask);
    stop.throwIfAborted();
    if (found.outcome !== "unknown") return found;
  }
  return null;
}

interface Begun {
  readonly plan: ActionPlan;
  readonly tool: ActingTool<unknown>;
  readonly attempt: number;
  /** The intent was recorded just now, and not before a restart. */
  readonly isNew: boolean;
}

/** Records the intent, if everything is still as it was approved. */
async function begin(
  ports: ExecutorPorts,
  actionId: string,
  place: ActionPlace,
  isKeyTaken: boolean,
): Promise<Begun | null> {
  let begun: Begun | null = null;
  const handled = await handle(ports, {
    at: ports.clock.now(),
    decide: (load) => {
      const action = loadAction(load, actionId);
      begun = null;
      if (action.status !== "approved") return refuse("action_not_approved");
      const { plan, execution } = action;
      const where = about(actionId, place.threadId, executor, place.turnId);
      const tool = ports.toolbox.find(plan.tool);
      const isBegun = execution.state === "intended";
      const gone = tool?.kind === "acting" && tool.args.safeParse(plan.args).success ? null : goneReason;
      // What has begun may have happened, and nobody is left who could find out.
      if (isBegun && gone !== null)
        return settled(ports, load, action, place, { outcome: "unknown", reason: gone }, "execution");
      if (tool?.kind !== "acting") return { ...where, decision: giveUp(action, "There is no such tool any more.") };
      if (!isBegun && !isThreadOpen(load, place.threadId))
        return { ...where, decision: giveUp(action, "Its thread was deleted.") };
      if (isBegun) {
        begun = { plan, tool, attempt: execution.attempts, isNew: false };
        return { ...where, decision: accept() };
      }
      if (isKeyTaken) return { ...where, decision: inConflict(action) };
      const changed = whatChanged(ports, tool, plan);
      if (changed !== null) return { ...where, decision: giveUp(action, changed) };
      begun = { plan, tool, attempt: execution.attempts + 1, isNew: true };
      return { ...where, decision: intend(action, ports.clock.now()) };
    },
  });
  return handled.outcome === "refused" ? null : begun;
}

/** The key of one thing was used for another: neither a repeat nor something new. Nothing is done. */
function inConflict(action: Extract<Action, { status: "approved" }>): Decision {
  const { actionId, tool, idempotencyKey } = action.plan;
  const reason = "args_hash_mismatch";
  const conflict: NewFact = { case: "idempotencyConflict", value: { actionId, tool, idempotencyKey, reason } };
  const failed = giveUp(action, "idempotency_conflict");
  return failed.outcome === "refused" ? failed : accept(conflict, ...failed.facts);
}

/** An approval is good for exactly what was approved. */
function whatChanged(
  { hash, policyVersion }: ExecutorPorts,
  tool: ActingTool<unknown>,
  plan: ActionPlan,
): string | null {
  if (tool.version !== plan.toolVersion) return "The tool is another version than the one that was approved.";
  if (plan.policyVersion !== policyVersion) return "The policy is another one than the one it was approved under.";
  const { args, identity } = plan;
  const binding = bindingOf(hash, { tool: tool.name, toolVersion: tool.version, args, identity, policyVersion });
  if (!isSame(binding, plan.argsHash)) return "The arguments are not those that were approved.";
  const parsed = tool.args.safeParse(args);
  return parsed.success ? null : "The tool does not take these arguments any more.";
}

function record(
  ports: ExecutorPorts,
  actionId: string,
  place: ActionPlace,
  effect: Effect,
  by: SettledBy,
): Promise<Handled> {
  return handle(ports, {
    at: ports.clock.now(),
    decide: (load) => settled(ports, load, loadAction(load, actionId), place, effect, by),
  });
}

/** The outcome; and if nobody knows it, the owner is asked in the same breath. */
function settled(
  ports: ExecutorPorts,
  load: Load,
  action: Action,
  { threadId, turnId }: ActionPlace,
  effect: Effect,
  by: SettledBy,
): readonly Proposal[] | Refusal {
  if (action.status === "none") return refuse("action_not_found");
  const { actionId } = action.plan;
  const decision = settle(action, effect, by, ports.clock.now());
  const isUntrusted = effect.outcome === "done" && effect.result.isUntrusted;
  const contentTrust = isUntrusted ? ContentTrust.UNTRUSTED_MODEL : executor.contentTrust;
  const outcome = { ...about(actionId, threadId, { ...executor, contentTrust }, turnId), decision };
  const isNews = decision.outcome === "accepted" && decision.facts.length > 0;
  if (effect.outcome !== "unknown" || !isNews) return [outcome];
  const unclear = {
    type: "proactive_reach_out",
    reason: "operator_attention_needed",
    resourceKind: "action",
    resourceId: actionId,
  } as const;
  const notice = notificationQueued((...parts) => ports.ids.derive(...parts), unclear, ports.clock.now());
  return [outcome, noticeOf(load, notice, actionId, threadId, turnId)];
}

export function noticeOf(
  load: Load,
  notice: Notice,
  actionId: string,
  threadId: string | null,
  turnId: string | null,
): Proposal {
  const where = about(actionId, threadId, { ...executor, contentTrust: ContentTrust.TRUSTED_SYSTEM }, turnId);
  return tellOwner(load, notice, where);
}

/** Whatever is thrown is not clear, and takes as long as it may. */
async function within(
  { timers, onTrouble }: ExecutorPorts,
  stop: AbortSignal,
  act: (signal: AbortSignal) => Promise<Effect>,
): Promise<Effect> {
  const late = new AbortController();
  const takeBack = timers.after(attemptMillisMax, () => {
    late.abort();
  });
  const signal = AbortSignal.any([stop, late.signal]);
  // Also if the tool does not listen.
  const expired = new Promise<Effect>((resolve) => {
    signal.addEventListener("abort", () => {
      resolve({ outcome: "unknown", reason: "It took longer than it may." });
    });
  });
  try {
    return await Promise.race([act(signal), expired]);
  } catch (error) {
    if (!stop.aborted) onTrouble(error, "carrying out an action");
    return { outcome: "unknown", reason: "The tool broke down." };
  } finally {
    takeBack();
  }
}
