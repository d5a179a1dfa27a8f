import type { Kysely } from "kysely";
import type { Conversations, ReadModels, Summary, Utterance } from "../../commands/ports/index.js";
import { turnBudgetBounds } from "../../domain/threads/index.js";
import { findAgentMemory, findLatestSummary } from "../../read-models/memory/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import {
  findMessage,
  findTurn,
  listMessagesOfTurns,
  listTalk,
  listTurnsEndedSince,
  type MessageRow,
} from "../../read-models/threads/index.js";
import type { LogReader } from "../event-log/index.js";

/** What was said, from the read models, once they show everything that is in the log now. */
export function conversationsIn(log: LogReader, readModels: ReadModels, query: Kysely<ReadModelTables>): Conversations {
  const upToDate = () => readModels.reached(log.head().position);
  const summaryOf = async (threadId: string): Promise<Summary | null> => {
    const row = await findLatestSummary(query, threadId);
    if (row === undefined) return null;
    return { summaryId: row.summary_id, text: row.summary_text, throughPosition: row.through_position };
  };
  return {
    before: async (threadId, turnId, turnsMax) => {
      await upToDate();
      const messagesMax = turnBudgetBounds.maxContextMessages.max;
      const turn = await findTurn(query, turnId);
      const message = turn && (await findMessage(query, turn.user_message_id));
      const talk = await listTalk(query, { threadId, turnId, turnsMax, messagesMax });
      const memory = (await findAgentMemory(query))?.content ?? "";
      const conversation = { memory, summary: await summaryOf(threadId), talk: talk.map(toUtterance) };
      return { conversation, userText: message?.content ?? "" };
    },
    latestSummary: async (threadId) => {
      await upToDate();
      return summaryOf(threadId);
    },
    endedSince: async (threadId, afterPosition, limit) => {
      await upToDate();
      const rows = await listTurnsEndedSince(query, { threadId, afterPosition, limit });
      return rows.map((row) => ({ turnId: row.turn_id, endedPosition: row.ended_position ?? 0 }));
    },
    said: async (threadId, turnIds) => {
      await upToDate();
      const rows = await listMessagesOfTurns(query, { threadId, turnIds });
      return rows.map((row) => ({ ...toUtterance(row), turnId: row.turn_id ?? "" }));
    },
  };
}

function toUtterance({ role, content }: MessageRow): Utterance {
  return { role: role === "assistant" || role === "system" ? role : "user", text: content };
}
