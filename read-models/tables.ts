import type { IdempotencyRow, ProposedActionRow, UntrustedContentRow } from "./approvals/index.js";
import type { AuditRow } from "./audit/index.js";
import type { ModelCallRow } from "./budgets/index.js";
import type { AuthTokenRow, DeviceRow, PairingAttemptRow, PairingCodeRow } from "./devices/index.js";
import type { AgentMemoryRow, ArtifactRow, ConversationSummaryRow, NoteRow } from "./memory/index.js";
import type { NotificationRow } from "./notifications/index.js";
import type { HeartbeatConfigRow } from "./schedules/index.js";
import type { MessageRow } from "./threads/messages.js";
import type { ThreadRow } from "./threads/threads.js";
import type { TurnRow } from "./threads/turns.js";

/** Every table of `read-models.db`, as the queries see it. */
export interface ReadModelTables {
  readonly agent_memory: AgentMemoryRow;
  readonly artifacts: ArtifactRow;
  readonly audit_log: AuditRow;
  readonly auth_tokens: AuthTokenRow;
  readonly conversation_summaries: ConversationSummaryRow;
  readonly devices: DeviceRow;
  readonly heartbeat_config: HeartbeatConfigRow;
  readonly idempotency: IdempotencyRow;
  readonly messages: MessageRow;
  readonly model_calls: ModelCallRow;
  readonly notes: NoteRow;
  readonly notifications: NotificationRow;
  readonly pairing_attempts: PairingAttemptRow;
  readonly pairing_codes: PairingCodeRow;
  readonly proposed_actions: ProposedActionRow;
  readonly threads: ThreadRow;
  readonly turns: TurnRow;
  readonly untrusted_content: UntrustedContentRow;
}
