import { minute, type Instant, type NewFact } from "../shared/index.js";

/** What an owner is told without having asked. */
type NotificationKind =
  "approval_needed" | "approval_expiring" | "job_failed" | "job_completed" | "proactive_reach_out";

/** Why somebody reaches out. */
type ReachOutReason = "operator_attention_needed" | "clarification_needed" | "important_update" | "follow_up_available";

interface About {
  readonly type: NotificationKind;
  readonly reason: ReachOutReason | "";
  readonly resourceKind: "thread" | "job" | "action";
  readonly resourceId: string;
}

/** The fact, with the id that its stream is named after. */
export type Notice = NewFact & {
  readonly case: "notificationQueued";
  readonly value: { readonly notificationId: string };
};

type Derive = (...parts: readonly string[]) => string;

/** The same news about the same thing is told at most once in each of these. */
const quietMillis = 10 * minute;

/**
 * Only opaque ids: what it is about is fetched by those who may see it. The same news about the same entity in the same
 * ten minutes has the same id, and who queues it sees that it was told.
 */
export function notificationQueued(derive: Derive, about: About, at: Instant, entity = about.resourceId): Notice {
  const { type, reason, resourceKind } = about;
  const period = String(Math.floor(at / quietMillis));
  const notificationId = derive("notification", type, reason, resourceKind, entity, period);
  return { case: "notificationQueued", value: { notificationId, ...about } };
}

/** What there is to decide. */
interface Undecided {
  readonly actionId: string;
  /** The same for all revisions. */
  readonly toolCallId: string;
  readonly expiresAt: Instant;
}

/**
 * However often an action is revised, it is one entity. All have as long to be decided, so when they expire tells how far
 * apart they were proposed.
 */
export function approvalNeeded(derive: Derive, { actionId, toolCallId, expiresAt }: Undecided): Notice {
  const about = { type: "approval_needed", reason: "", resourceKind: "action", resourceId: actionId } as const;
  return notificationQueued(derive, about, expiresAt, toolCallId);
}

/** An action expires once, so it is told once. */
export function approvalExpiring(derive: Derive, { actionId, expiresAt }: Omit<Undecided, "toolCallId">): Notice {
  const about = { type: "approval_expiring", reason: "", resourceKind: "action", resourceId: actionId } as const;
  return notificationQueued(derive, about, expiresAt);
}
