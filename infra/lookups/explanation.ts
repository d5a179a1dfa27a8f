import type { Kysely } from "kysely";
import { explain, type ExplainedStep } from "../../domain/audit/index.js";
import type { RecordedEvent } from "../../domain/shared/index.js";
import { findAction, type ProposedActionRow } from "../../read-models/approvals/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { findMessage, findTurn } from "../../read-models/threads/index.js";
import type { LogReader } from "../event-log/index.js";

/** Of each stream that an action comes from. */
const eventsMax = 5_000;
const pageEvents = 500;
const revisionsMax = 100;

/** Why an action happened, or did not, read from the log. */
export async function explanationIn(
  log: LogReader,
  query: Kysely<ReadModelTables>,
  { action_id: actionId, turn_id: turnId, supersedes }: ProposedActionRow,
): Promise<readonly ExplainedStep[]> {
  const action = [...(await revisionsBefore(log, query, supersedes)), ...eventsOf(log, `action-${actionId}`)];
  const turn = turnId === null ? [] : eventsOf(log, `turn-${turnId}`);
  const beginning = turnId === null ? [] : await beginningOf(log, query, turnId);
  return explain(actionId, [...beginning, ...turn, ...action]);
}

/** What was proposed in its place before. */
async function revisionsBefore(
  log: LogReader,
  query: Kysely<ReadModelTables>,
  supersedes: string | null,
): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  let before = supersedes;
  for (let followed = 0; before !== null && followed < revisionsMax; followed++) {
    events.push(...eventsOf(log, `action-${before}`));
    before = (await findAction(query, before))?.supersedes ?? null;
  }
  return events;
}

/** What was said, and that it began to be answered. */
async function beginningOf(
  log: LogReader,
  query: Kysely<ReadModelTables>,
  turnId: string,
): Promise<readonly RecordedEvent[]> {
  const turn = await findTurn(query, turnId);
  const message = turn && (await findMessage(query, turn.user_message_id));
  const positions = [message?.position, turn?.started_position].flatMap((position) => position ?? []);
  return positions.flatMap((position) => log.readAll(position - 1, 1)).map((row) => log.decode(row));
}

function eventsOf(log: LogReader, stream: string): readonly RecordedEvent[] {
  const events: RecordedEvent[] = [];
  while (events.length < eventsMax) {
    const page = log.readStream(stream, events.at(-1)?.version ?? 0, pageEvents);
    events.push(...page);
    if (page.length < pageEvents) break;
  }
  return events;
}
