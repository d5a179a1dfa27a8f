import {
  evolveAgentMemory,
  initialAgentMemory,
  updateAgentMemory as decideToUpdate,
} from "../../domain/memory/index.js";
import type { Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";

const agentMemoryStream = "agent-memory";

export interface UpdateAgentMemory {
  readonly content: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function updateAgentMemory(
  handling: Handling,
  { content, at, provenance }: UpdateAgentMemory,
): Promise<Handled> {
  return handle(handling, {
    at,
    decide: (load) => {
      const memory = load(agentMemoryStream, initialAgentMemory, evolveAgentMemory);
      return { stream: agentMemoryStream, threadId: null, provenance, decision: decideToUpdate(memory, content) };
    },
  });
}
