import type { Kysely } from "kysely";
import type { Lookups, ReadModels } from "../../commands/ports/index.js";
import { findActionPlace, listUntrustedContent } from "../../read-models/approvals/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { listLatestMessages } from "../../read-models/threads/index.js";
import type { LogReader } from "../event-log/index.js";

/** How far a card looks back for where an address comes from. */
const untrustedMax = 50;
const messagesMax = 200;

/** Answers from the read models, once they show everything that is in the log now. */
export function lookupsIn(log: LogReader, readModels: ReadModels, query: Kysely<ReadModelTables>): Lookups {
  const upToDate = () => readModels.reached(log.head().position);
  return {
    action: async (actionId) => {
      await upToDate();
      const row = await findActionPlace(query, actionId);
      if (row === undefined) return null;
      const { thread_id: threadId, turn_id: turnId, tool, idempotency_key: idempotencyKey } = row;
      return { threadId, turnId, tool, idempotencyKey, keyUsedBy: row.key_used_by };
    },
    surroundings: async (threadId) => {
      await upToDate();
      const contents = await listUntrustedContent(query, { threadId, limit: untrustedMax + 1 });
      const messages = await listLatestMessages(query, { threadId, limit: messagesMax });
      return {
        untrusted: contents.slice(0, untrustedMax).map(({ tool, origin, text, read_position: position }) => ({
          tool,
          origin,
          text,
          position: position ?? Infinity,
        })),
        ownerWords: messages.flatMap(({ role, content: text, position }) =>
          role === "user" ? [{ position, text }] : [],
        ),
        isCutOff: contents.length > untrustedMax,
      };
    },
  };
}
