/** Why an action was rejected, in one word. Nobody says "erased": that is a decision which nobody can read any more. */
export type RejectionCode = (typeof rejectionCodes)[number] | "erased";

const rejectionCodes = [
  "owner",
  "expired",
  "cancelled",
  "superseded",
  "thread_deleted",
  "idempotency_conflict",
] as const;

/** Whoever recorded no code has given the reason for it, and the owner any other. */
export function rejectionCodeOf({
  reasonCode = "",
  reason = "",
}: Partial<Record<"reasonCode" | "reason", string>>): RejectionCode {
  return rejectionCodes.find((code) => code === (reasonCode || reason)) ?? "owner";
}
