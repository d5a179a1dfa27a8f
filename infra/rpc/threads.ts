import type { JsonObject } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Ids } from "../../commands/ports/index.js";
import { createThread } from "../../commands/threads/create-thread.js";
import { deleteThread } from "../../commands/threads/delete-thread.js";
import { refuse } from "../../domain/shared/index.js";
import { ContentTrust } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import {
  hasThread,
  listLatestMessages,
  listMessages,
  listThreads,
  type MessageRow,
  type ThreadRow,
} from "../../read-models/threads/index.js";
import type { LogReader } from "../event-log/index.js";
import { provenanceOf } from "./caller.js";
import { page } from "./paging.js";
import { expectDone, toConnectError } from "./refusal.js";
import { timestampOf } from "./times.js";

const channel = "ios";
const snapshotMessagesMax = 200;
/** By their numbers, which is how the table keeps them. */
const trusts = [
  ContentTrust.CONTENT_TRUST_UNSPECIFIED,
  ContentTrust.UNTRUSTED_MODEL,
  ContentTrust.TRUSTED_VALIDATED,
  ContentTrust.TRUSTED_SYSTEM,
];

export function threadsService(
  handling: Handling,
  log: LogReader,
  query: Kysely<ReadModelTables>,
  ids: Ids,
  clock: Clock,
): ServiceImpl<typeof ThreadsService> {
  const requireThread = async (threadId: string): Promise<void> => {
    if (!(await hasThread(query, threadId))) throw toConnectError(refuse("thread_not_found"));
  };
  /** A client that watches from here on misses nothing of what it was not shown: so it is read before the rows are. */
  const lastSequence = (threadId: string) => BigInt(log.threadHead(threadId));

  return {
    async createThread(_request, context) {
      const threadId = ids.next();
      const at = clock.now();
      expectDone(await createThread(handling, { threadId, channel, at, provenance: provenanceOf(context) }));
      return { threadId, lastSequence: lastSequence(threadId) };
    },

    async getThreadSnapshot({ threadId }) {
      const sequence = lastSequence(threadId);
      await requireThread(threadId);
      const rows = await listLatestMessages(query, { threadId, limit: snapshotMessagesMax });
      return { threadId, lastSequence: sequence, messages: rows.map(toMessage) };
    },

    async listThreadMessages({ threadId, ...request }) {
      const sequence = lastSequence(threadId);
      await requireThread(threadId);
      const { rows, nextPageToken } = await page(`messages/${threadId}`, request, 0, (afterPosition, limit) =>
        listMessages(query, { threadId, afterPosition, limit }),
      );
      return { items: rows.map(toMessage), nextPageToken, lastSequence: sequence };
    },

    async listThreads(request) {
      const { rows, nextPageToken } = await page("threads", request, Infinity, (beforePosition, limit) =>
        listThreads(query, { beforePosition, limit }),
      );
      return { items: rows.map(toThread), nextPageToken };
    },

    async deleteThread({ threadId }, context) {
      expectDone(await deleteThread(handling, { threadId, at: clock.now(), provenance: provenanceOf(context) }));
      return { threadId };
    },
  };
}

function toThread(row: ThreadRow) {
  return {
    threadId: row.thread_id,
    title: row.title ?? "",
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    messageCount: row.message_count,
  };
}

function toMessage(row: MessageRow) {
  return {
    messageId: row.message_id,
    role: row.role,
    content: row.content,
    contentTrust: trusts[row.content_trust] ?? ContentTrust.CONTENT_TRUST_UNSPECIFIED,
    createdAt: timestampOf(row.created_at),
    ...(row.metadata_json !== null && { metadata: JSON.parse(row.metadata_json) as JsonObject }),
  };
}
