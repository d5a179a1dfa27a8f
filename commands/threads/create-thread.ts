import type { Instant } from "../../domain/shared/index.js";
import { createThread as decideToCreate, evolveThread, initialThread } from "../../domain/threads/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { threadStream } from "./streams.js";

export interface CreateThread {
  readonly threadId: string;
  readonly channel: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function createThread(
  handling: Handling,
  { threadId, channel, at, provenance }: CreateThread,
): Promise<Handled> {
  const stream = threadStream(threadId);
  return handle(handling, {
    at,
    decide: (load) => {
      const thread = load(stream, initialThread, evolveThread);
      return { stream, threadId, provenance, decision: decideToCreate(thread, channel) };
    },
  });
}
