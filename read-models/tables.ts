import type { AuthTokenRow, DeviceRow, PairingAttemptRow, PairingCodeRow } from "./devices/index.js";
import type { AgentMemoryRow } from "./memory/index.js";
import type { HeartbeatConfigRow } from "./schedules/index.js";
import type { MessageRow } from "./threads/messages.js";
import type { ThreadRow } from "./threads/threads.js";

/** Every table of `read-models.db`, as the queries see it. */
export interface ReadModelTables {
  readonly agent_memory: AgentMemoryRow;
  readonly auth_tokens: AuthTokenRow;
  readonly devices: DeviceRow;
  readonly heartbeat_config: HeartbeatConfigRow;
  readonly messages: MessageRow;
  readonly pairing_attempts: PairingAttemptRow;
  readonly pairing_codes: PairingCodeRow;
  readonly threads: ThreadRow;
}
