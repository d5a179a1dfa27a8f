import type { Kysely } from "kysely";
import { revisionsMax } from "../../domain/approvals/index.js";
import { explain, type ExplainedStep } from "../../domain/audit/index.js";
import type { RecordedEvent } from "../../domain/shared/index.js";
import { findAction, type ProposedActionRow } from "../../read-models/approvals/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { findMessage, findTurn } from "../../read-models/threads/index.js";
import type { LogReader } from "../event-log/index.js";

/** Of each stream that an action comes from. */
const eventsMax = 5_000;
const pageEvents = 500;

/** Why an action happened, or did not, read from the log. */
export async function explanationIn(
  log: LogReader,
  query: Kysely<ReadModelTables>,
  row: ProposedActionRow,
): Promise<readonly ExplainedStep[]> {
  const { action_id: actionId, turn_id: turnId } = row;
  const before = await revisionsFrom(log, query, row, ({ supersedes }) => supersedes);
  const after = await revisionsFrom(log, query, row, ({ superseded_by }) => superseded_by);
  const action = [...before, ...eventsOf(log, `action-${actionId}`), ...after];
  const turn = turnId === null ? [] : eventsOf(log, `turn-${turnId}`);
  const beginning = turnId === null ? [] : await beginningOf(log, query, turnId);
  return explain(actionId, [...beginning, ...turn, ...action]);
}

/** What was proposed in its place, one after the other. */
async function revisionsFrom(
  log: LogReader,
  query: Kysely<ReadModelTables>,
  action: ProposedActionRow,
  next: (action: ProposedActionRow) => string | null,
): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  let revision = next(action);
  for (let followed = 0; revision !== null && followed < revisionsMax; followed++) {
    events.push(...eventsOf(log, `action-${revision}`));
    const row = await findAction(query, revision);
    revision = row === undefined ? null : next(row);
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
