import type { NewFact } from "../shared/index.js";

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

/** Only opaque ids: what it is about is fetched by those who may see it. The same news about the same thing is told once. */
export function notificationQueued(derive: Derive, about: About): Notice {
  const notificationId = derive("notification", about.type, about.reason, about.resourceKind, about.resourceId);
  return { case: "notificationQueued", value: { notificationId, ...about } };
}

export function approvalNeeded(derive: Derive, actionId: string): Notice {
  const about = { type: "approval_needed", reason: "", resourceKind: "action", resourceId: actionId } as const;
  return notificationQueued(derive, about);
}
