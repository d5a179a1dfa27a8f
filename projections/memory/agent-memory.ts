import { agentMemory } from "../../read-models/memory/index.js";
import { deleteErased } from "../shared/erased.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";

export const agentMemoryProjection: Projection = {
  name: "agent_memory",
  version: 1,
  tables: [agentMemory],
  on: {
    agentMemoryUpdated({ payload, occurredAt, position }, write) {
      write.delete(agentMemory, { user_id: owner });
      if (payload === null) return;
      write.insert(agentMemory, { user_id: owner, content: payload.content, updated_at: occurredAt, position });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, agentMemory, { user_id: owner }, write);
    },
  },
};
