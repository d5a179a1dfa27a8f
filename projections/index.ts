import { idempotencyProjection } from "./approvals/idempotency.js";
import { proposedActionsProjection } from "./approvals/proposed-actions.js";
import { untrustedContentProjection } from "./approvals/untrusted-content.js";
import { auditLogProjection } from "./audit/audit-log.js";
import { modelCallsProjection } from "./budgets/model-calls.js";
import {
  authTokensProjection,
  devicesProjection,
  pairingAttemptsProjection,
  pairingCodesProjection,
} from "./devices/index.js";
import { agentMemoryProjection } from "./memory/agent-memory.js";
import { artifactsProjection } from "./memory/artifacts.js";
import { notesProjection } from "./memory/notes.js";
import { conversationSummariesProjection } from "./memory/summaries.js";
import { notificationsProjection } from "./notifications/notifications.js";
import { heartbeatConfigProjection } from "./schedules/heartbeat-config.js";
import type { Projection } from "./shared/projection.js";
import { messagesProjection } from "./threads/messages.js";
import { threadsProjection } from "./threads/threads.js";
import { turnsProjection } from "./threads/turns.js";

/** Every projection, in the order in which they are applied. A new one is added here. */
export const projections: readonly Projection[] = [
  threadsProjection,
  messagesProjection,
  turnsProjection,
  modelCallsProjection,
  proposedActionsProjection,
  idempotencyProjection,
  untrustedContentProjection,
  devicesProjection,
  authTokensProjection,
  pairingCodesProjection,
  pairingAttemptsProjection,
  agentMemoryProjection,
  conversationSummariesProjection,
  notesProjection,
  artifactsProjection,
  heartbeatConfigProjection,
  notificationsProjection,
  auditLogProjection,
];
