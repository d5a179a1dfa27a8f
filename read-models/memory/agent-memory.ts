import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const agentMemory = table(
  "agent_memory",
  { user_id: "text", content: "text", updated_at: "text", position: "integer" },
  { primaryKey: ["user_id"] },
);

export type AgentMemoryRow = Row<typeof agentMemory>;

export function findAgentMemory(db: Kysely<ReadModelTables>): Promise<AgentMemoryRow | undefined> {
  return db.selectFrom("agent_memory").selectAll().executeTakeFirst();
}
