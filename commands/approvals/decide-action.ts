import {
  abandon,
  approve,
  cancel,
  conflict,
  evolveAction,
  expire,
  initialAction,
  reject,
  resolve,
  type Action,
} from "../../domain/approvals/index.js";
import { refuse, type Decision, type Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling, type Load, type Proposal } from "../handle.js";
import type { ActionPlace, Lookups, Provenance } from "../ports/index.js";
import { evolveThread, initialThread } from "../../domain/threads/index.js";
import { threadStream } from "../threads/streams.js";
import { actionStream } from "./streams.js";

/** How many actions may be approved at once. */
export const actionsPerBundleMax = 50;

export interface Deciding extends Handling {
  readonly lookups: Lookups;
}

export interface Approving extends Deciding {
  /** The policy that is in force. */
  readonly policyVersion: string;
}

interface Decider {
  readonly at: Instant;
  readonly provenance: Provenance;
}

interface OneAction extends Decider {
  readonly actionId: string;
}

/** `seen` is the hash of the card that the person saw, if they say. */
export interface Seen {
  readonly actionId: string;
  readonly seen: Uint8Array | null;
}

export function approveAction(approving: Approving, command: OneAction & Seen): Promise<Handled> {
  return approveActions(approving, { ...command, actions: [command] });
}

/** All of them, or none. If another action has used the key of one, that is recorded, and none is approved. */
export async function approveActions(
  approving: Approving,
  command: Decider & { readonly actions: readonly Seen[] },
): Promise<Handled> {
  const { actions, at } = command;
  if (actions.length > actionsPerBundleMax) return refuse("too_many_actions", { actionsMax: actionsPerBundleMax });
  const once = actions.filter((one, index) => actions.findIndex(({ actionId }) => actionId === one.actionId) === index);
  const by = ({ seen }: Seen) => ({ seen, policyVersion: approving.policyVersion });
  const placed = await placesOf(approving, once);
  for (const one of placed) {
    const usedBy = otherUseOf(one);
    if (usedBy === null) continue;
    const decide = (action: Action, asked: Seen, load: Load) =>
      conflict(action, loadAction(load, usedBy), by(asked), at);
    const recorded = await decidePlaced(approving, command, [one], decide, isThreadOpen);
    if (recorded.outcome === "refused") return recorded;
    if (recorded.events.length > 0) return refuse("idempotency_conflict", { actionId: one.asked.actionId });
  }
  return decidePlaced(approving, command, placed, (action, one) => approve(action, by(one), at), isThreadOpen);
}

export function rejectAction(deciding: Deciding, command: OneAction & { readonly reason: string }): Promise<Handled> {
  return decideOne(deciding, command, (action) => reject(action, command.reason));
}

export function cancelAction(deciding: Deciding, command: OneAction): Promise<Handled> {
  return decideOne(deciding, command, cancel);
}

export function expireAction(deciding: Deciding, command: OneAction): Promise<Handled> {
  return decideOne(deciding, command, (action) => expire(action, command.at));
}

/** Rejects what was proposed in a thread that is not there any more. */
export function abandonAction(deciding: Deciding, command: OneAction): Promise<Handled> {
  return decideOne(deciding, command, abandon);
}

/** The owner says what became of an action of which nobody else knows. */
export function resolveAction(deciding: Deciding, command: OneAction & { readonly isDone: boolean }): Promise<Handled> {
  return decideOne(deciding, command, (action) => resolve(action, command.isDone, command.at));
}

/** What was asked for, and where it belongs; null if nobody knows. */
interface Placed<Asked extends { readonly actionId: string }> {
  readonly asked: Asked;
  readonly place: ActionPlace | null;
}

function placesOf<Asked extends { readonly actionId: string }>(
  { lookups }: Deciding,
  all: readonly Asked[],
): Promise<readonly Placed<Asked>[]> {
  return Promise.all(all.map(async (asked) => ({ asked, place: await lookups.action(asked.actionId) })));
}

/** Another action that has used the idempotency key of this one first; null if none has. */
function otherUseOf({ asked, place }: Placed<Seen>): string | null {
  const usedBy = place?.keyUsedBy ?? null;
  return usedBy === asked.actionId ? null : usedBy;
}

async function decideOne(
  deciding: Deciding,
  command: OneAction,
  decide: (action: Action) => Decision,
): Promise<Handled> {
  return decidePlaced(deciding, command, await placesOf(deciding, [command]), decide);
}

function decidePlaced<Asked extends { readonly actionId: string }>(
  deciding: Deciding,
  { at, provenance }: Decider,
  placed: readonly Placed<Asked>[],
  decide: (action: Action, asked: Asked, load: Load) => Decision,
  mayBe: (load: Load, threadId: string) => boolean = () => true,
): Promise<Handled> {
  return handle(deciding, {
    at,
    decide: (load) =>
      placed.map(({ asked, place }): Proposal => {
        const { actionId } = asked;
        const where = about(actionId, place?.threadId ?? null, provenance, place?.turnId);
        if (place === null) return { ...where, decision: refuse("action_not_found", { actionId }) };
        if (!mayBe(load, place.threadId)) return { ...where, decision: refuse("thread_deleted", { actionId }) };
        return { ...where, decision: whose(actionId, decide(loadAction(load, actionId), asked, load)) };
      }),
  });
}

/** Whoever decides about several is told which one it is about. */
function whose(actionId: string, decision: Decision): Decision {
  return decision.outcome === "refused" ? { ...decision, facts: { ...decision.facts, actionId } } : decision;
}

/** What was wanted in a thread is not wanted any more once it is deleted. */
export function isThreadOpen(load: Load, threadId: string): boolean {
  return load(threadStream(threadId), initialThread, evolveThread).status === "open";
}

export function loadAction(load: Load, actionId: string): Action {
  return load(actionStream(actionId), initialAction, evolveAction);
}

export function about(
  actionId: string,
  threadId: string | null,
  provenance: Provenance,
  turnId: string | null | undefined,
): Omit<Proposal, "decision"> {
  const turn = turnId ? { turnId, correlationId: turnId } : {};
  return { stream: actionStream(actionId), threadId, provenance: { ...provenance, ...turn, causationId: actionId } };
}
