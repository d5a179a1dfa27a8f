import { accept, nothing, refuseTextIfAny, type Decision, type Fact } from "../shared/index.js";

const agentMemoryBytesMax = 64 * 1024;

/** What the owner wants the assistant to keep in mind; null as long as nobody has said, or once it was erased. */
export interface AgentMemory {
  readonly content: string | null;
}

export const initialAgentMemory: AgentMemory = { content: null };

export function evolveAgentMemory(memory: AgentMemory, fact: Fact): AgentMemory {
  return fact.case === "agentMemoryUpdated" ? { content: fact.value?.content ?? null } : memory;
}

export function updateAgentMemory(memory: AgentMemory, content: string): Decision {
  if (memory.content === content) return nothing; // A repeat is not news.
  return refuseTextIfAny(content, agentMemoryBytesMax) ?? accept({ case: "agentMemoryUpdated", value: { content } });
}
