export { evolveAgentMemory, initialAgentMemory, updateAgentMemory } from "./agent-memory.js";
export { artifactPut, notesWrite } from "./tools.js";
