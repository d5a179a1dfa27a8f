export { agentMemory, findAgentMemory, type AgentMemoryRow } from "./agent-memory.js";
