export { listDueActions, listInFlightActions, nextDueAt, type ActionToCarryOut } from "./due-actions.js";
export { listExpiredActions, listExpiringActions, nextExpiryAt } from "./expiring-actions.js";
export { idempotency, type IdempotencyRow } from "./idempotency.js";
export {
  findAction,
  findActionPlace,
  findActionStatus,
  findPendingOfTurn,
  listActions,
  listPastActions,
} from "./list-actions.js";
export { proposedActions, type ActionStatusText, type ProposedActionRow } from "./proposed-actions.js";
export { listUntrustedContent, untrustedContent, type UntrustedContentRow } from "./untrusted-content.js";
export { listOrphanedActions } from "./orphaned-actions.js";
