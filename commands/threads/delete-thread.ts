import type { Instant } from "../../domain/shared/index.js";
import { deleteThread as decideToDelete, evolveThread, initialThread } from "../../domain/threads/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { threadStream } from "./streams.js";

export interface DeleteThread {
  readonly threadId: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function deleteThread(handling: Handling, { threadId, at, provenance }: DeleteThread): Promise<Handled> {
  const stream = threadStream(threadId);
  return handle(handling, {
    at,
    decide: (load) => {
      const thread = load(stream, initialThread, evolveThread);
      return { stream, threadId, provenance, decision: decideToDelete(thread) };
    },
  });
}
