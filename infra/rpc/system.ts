import type { ServiceImpl } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import type { Handling } from "../../commands/handle.js";
import { updateAgentMemory } from "../../commands/memory/update-agent-memory.js";
import type { Clock } from "../../commands/ports/index.js";
import { configureHeartbeat } from "../../commands/schedules/configure-heartbeat.js";
import { initialHeartbeat } from "../../domain/schedules/index.js";
import type { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { findAgentMemory } from "../../read-models/memory/index.js";
import { findHeartbeatConfig } from "../../read-models/schedules/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { provenanceOf } from "./caller.js";
import { expectDone } from "./refusal.js";
import { timestampOf } from "./times.js";

/** What of it is built. Policy, audit and notifications come with their rooms. */
export function systemService(
  handling: Handling,
  query: Kysely<ReadModelTables>,
  clock: Clock,
): Partial<ServiceImpl<typeof SystemService>> {
  const memory = async () => {
    const row = await findAgentMemory(query);
    return row === undefined ? { content: "" } : { content: row.content, updatedAt: timestampOf(row.updated_at) };
  };
  const heartbeat = async () => {
    const row = await findHeartbeatConfig(query);
    if (row === undefined) return initialHeartbeat;
    return {
      enabled: row.enabled === 1,
      intervalMinutes: row.interval_minutes,
      tasksMarkdown: row.tasks_markdown,
      tasksUpdatedAt: timestampOf(row.updated_at),
    };
  };
  return {
    getAgentMemory: memory,

    async updateAgentMemory({ content }, context) {
      expectDone(await updateAgentMemory(handling, { content, at: clock.now(), provenance: provenanceOf(context) }));
      return { ...(await memory()), writtenBytes: BigInt(Buffer.byteLength(content)) };
    },

    getHeartbeatConfig: heartbeat,

    async updateHeartbeatConfig({ enabled, intervalMinutes, tasksMarkdown }, context) {
      const wanted = { enabled, intervalMinutes, tasksMarkdown };
      expectDone(await configureHeartbeat(handling, { wanted, at: clock.now(), provenance: provenanceOf(context) }));
      return heartbeat();
    },
  };
}
