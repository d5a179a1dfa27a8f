import type { Kysely } from "kysely";
import type { ReadModels, TokenUsage } from "../../commands/ports/index.js";
import { toText } from "../../domain/shared/index.js";
import { tokensSpent } from "../../read-models/budgets/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { LogReader } from "../event-log/index.js";

export function tokenUsageIn(log: LogReader, readModels: ReadModels, query: Kysely<ReadModelTables>): TokenUsage {
  return {
    spent: async (from, until) => {
      await readModels.reached(log.head().position);
      return tokensSpent(query, { from: toText(from), until: toText(until) });
    },
  };
}
