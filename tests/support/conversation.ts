import type { Handled, Handling } from "../../commands/handle.js";
import { commitMessage } from "../../commands/threads/commit-message.js";
import { createThread } from "../../commands/threads/create-thread.js";
import { deleteThread } from "../../commands/threads/delete-thread.js";
import type { RecordedEvent } from "../../domain/shared/index.js";
import { compareWithRebuild, type TableComparison } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import type { Projection } from "../../projections/shared/projection.js";
import { MessageRole } from "../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { listMessages, listThreads, type MessageRow, type ThreadRow } from "../../read-models/threads/index.js";
import { noon } from "./appends.js";
import { fromOwner, type Backend } from "./backend.js";

type Commanded = Handling & Pick<Backend, "ids">;

export function open(backend: Commanded, threadId: string): Promise<Handled> {
  return createThread(backend, { threadId, channel: "ios", at: noon, provenance: fromOwner });
}

/** The client's id of a message is its text unless another is given. */
export function say(backend: Commanded, threadId: string, text: string, clientMessageId = text): Promise<Handled> {
  const said = { threadId, text, clientMessageId, role: MessageRole.USER };
  return commitMessage(backend, { ...said, at: noon, provenance: fromOwner });
}

export function remove(backend: Commanded, threadId: string): Promise<Handled> {
  return deleteThread(backend, { threadId, at: noon, provenance: fromOwner });
}

export function forget(backend: Pick<Backend, "log">, first: number, last = first): Promise<RecordedEvent> {
  return backend.log.erase({ occurredAt: noon, ranges: [{ first, last }], reason: "forget", provenance: fromOwner });
}

export async function textsIn(backend: Pick<Backend, "store">, threadId: string): Promise<string[]> {
  const rows = await messagesIn(backend, threadId);
  return rows.map(({ content }) => content);
}

export function messagesIn({ store }: Pick<Backend, "store">, threadId: string): Promise<MessageRow[]> {
  return listMessages(store.query, { threadId, afterPosition: 0, limit: 10_000 });
}

export function threadsIn({ store }: Pick<Backend, "store">): Promise<ThreadRow[]> {
  return listThreads(store.query, { beforePosition: Number.MAX_SAFE_INTEGER, limit: 10_000 });
}

/** What a rebuild would show differently. */
export async function differences(
  { log, store }: Pick<Backend, "log" | "store">,
  of: readonly Projection[] = projections,
): Promise<TableComparison["differences"]> {
  const tables = await compareWithRebuild(log, store, of);
  return tables.flatMap((table) => {
    const isEqual = table.servedDigest === table.rebuiltDigest;
    if (isEqual !== (table.differences.length === 0)) throw new Error("the digest and the rows tell different stories");
    return table.differences;
  });
}
