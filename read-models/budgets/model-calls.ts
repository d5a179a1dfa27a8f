import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const modelCalls = table(
  "model_calls",
  {
    call_id: "text",
    user_id: "text",
    thread_id: "text",
    turn_id: "text",
    purpose: "text",
    provider: "text",
    model: "text",
    step: "integer",
    attempt: "integer",
    reserved_tokens: "integer",
    /** "finished" or "failed"; null while it is open. */
    outcome: "text?",
    input_tokens: "integer?",
    output_tokens: "integer?",
    cached_input_tokens: "integer?",
    charged_tokens: "integer?",
    started_at: "text",
    ended_at: "text?",
    position: "integer",
    ended_position: "integer?",
  },
  { primaryKey: ["call_id"], indexes: [["started_at"], ["position"], ["ended_position"]] },
);

export type ModelCallRow = Row<typeof modelCalls>;

/** What the calls have cost that started at `from` or later, and before `until`; an open one, what is reserved for it. */
export async function tokensSpent(
  db: Kysely<ReadModelTables>,
  period: { readonly from: string; readonly until: string },
): Promise<number> {
  const { tokens } = await db
    .selectFrom("model_calls")
    .select(({ fn }) => fn.sum<number | null>(fn.coalesce("charged_tokens", "reserved_tokens")).as("tokens"))
    .where("started_at", ">=", period.from)
    .where("started_at", "<", period.until)
    .executeTakeFirstOrThrow();
  return tokens ?? 0;
}

/** Calls for a purpose that have no end yet. */
export function listOpenCalls(db: Kysely<ReadModelTables>, purpose: string): Promise<ModelCallRow[]> {
  return db
    .selectFrom("model_calls")
    .selectAll()
    .where("outcome", "is", null)
    .where("purpose", "=", purpose)
    .orderBy("position")
    .execute();
}
