import {
  approve,
  cancel,
  evolveAction,
  expire,
  initialAction,
  reject,
  resolve,
  type Action,
} from "../../domain/approvals/index.js";
import { refuse, type Decision, type Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling, type Load, type Proposal } from "../handle.js";
import type { Lookups, Provenance } from "../ports/index.js";
import { evolveThread, initialThread } from "../../domain/threads/index.js";
import { threadStream } from "../threads/streams.js";
import { actionStream } from "./streams.js";

/** How many actions may be approved at once. */
export const actionsPerBundleMax = 50;

export interface Deciding extends Handling {
  readonly lookups: Lookups;
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

export function approveAction(deciding: Deciding, command: OneAction & Seen): Promise<Handled> {
  return approveActions(deciding, { ...command, actions: [command] });
}

/** All of them, or none. */
export async function approveActions(
  deciding: Deciding,
  command: Decider & { readonly actions: readonly Seen[] },
): Promise<Handled> {
  const { actions, at } = command;
  if (actions.length > actionsPerBundleMax) return refuse("too_many_actions", { actionsMax: actionsPerBundleMax });
  const once = actions.filter((one, index) => actions.findIndex(({ actionId }) => actionId === one.actionId) === index);
  return decideAll(deciding, command, once, (action, { seen }) => approve(action, seen, at), isThreadOpen);
}

export function rejectAction(deciding: Deciding, command: OneAction & { readonly reason: string }): Promise<Handled> {
  return decideAll(deciding, command, [command], (action) => reject(action, command.reason));
}

export function cancelAction(deciding: Deciding, command: OneAction): Promise<Handled> {
  return decideAll(deciding, command, [command], cancel);
}

export function expireAction(deciding: Deciding, command: OneAction): Promise<Handled> {
  return decideAll(deciding, command, [command], (action) => expire(action, command.at));
}

/** The owner says what became of an action of which nobody else knows. */
export function resolveAction(deciding: Deciding, command: OneAction & { readonly isDone: boolean }): Promise<Handled> {
  return decideAll(deciding, command, [command], (action) => resolve(action, command.isDone, command.at));
}

async function decideAll<Asked extends { readonly actionId: string }>(
  deciding: Deciding,
  { at, provenance }: Decider,
  asked: readonly Asked[],
  decide: (action: Action, asked: Asked) => Decision,
  mayBe: (load: Load, threadId: string) => boolean = () => true,
): Promise<Handled> {
  const places = await Promise.all(asked.map(({ actionId }) => deciding.lookups.action(actionId)));
  return handle(deciding, {
    at,
    decide: (load) =>
      asked.map((one, index): Proposal => {
        const place = places[index];
        const where = about(one.actionId, place?.threadId ?? null, provenance, place?.turnId);
        if (!place) return { ...where, decision: refuse("action_not_found") };
        if (!mayBe(load, place.threadId)) return { ...where, decision: refuse("thread_deleted") };
        return { ...where, decision: decide(loadAction(load, one.actionId), one) };
      }),
  });
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
