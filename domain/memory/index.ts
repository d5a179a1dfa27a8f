export { evolveAgentMemory, initialAgentMemory, updateAgentMemory } from "./agent-memory.js";
