import type { Append } from "../../commands/ports/index.js";
import { createThread } from "../../commands/threads/create-thread.js";
import { systemIds } from "../../infra/ports/system-ids.js";
import { fromOwner, openBackend, type Backend } from "../support/backend.js";

/** The real path, with threads that exist, so that the projections have rows to change. */
export interface Ours {
  readonly backend: Backend;
  readonly threadIds: readonly string[];
  /** Durable and projected when it resolves: what a client waits for. */
  append(append: Append): Promise<void>;
  close(): void;
}

export async function openOurs(directory: string, threadCount: number): Promise<Ours> {
  const backend = await openBackend(directory);
  const threadIds = Array.from({ length: threadCount }, () => systemIds.next());
  for (const threadId of threadIds) {
    await createThread(backend, { threadId, channel: "ios", at: Date.now(), provenance: fromOwner });
  }
  return {
    backend,
    threadIds,
    async append(append) {
      const result = await backend.log.append(append);
      if (result.outcome !== "appended") throw new Error(`an append ended as ${result.outcome}`);
      await backend.projector.reached(result.events.at(-1)!.position);
    },
    close: () => {
      backend.close();
    },
  };
}
