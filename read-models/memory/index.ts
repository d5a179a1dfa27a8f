export { agentMemory, findAgentMemory, type AgentMemoryRow } from "./agent-memory.js";
export { artifacts, findArtifact, listArtifacts, type ArtifactRow } from "./artifacts.js";
export { listNotes, notes, type NoteRow } from "./notes.js";
export { conversationSummaries, findLatestSummary, type ConversationSummaryRow } from "./summaries.js";
