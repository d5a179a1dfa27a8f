import type { Kysely } from "kysely";
import type { ReadModelTables } from "../tables.js";
import type { MessageRow } from "./messages.js";

/** How far to look back from a turn. */
interface Talk {
  readonly threadId: string;
  readonly turnId: string;
  readonly turnsMax: number;
  readonly messagesMax: number;
}

/**
 * What was said before a turn, oldest first: the messages of the turns that started before it, and those of no turn
 * since then. A turn that has not started has nothing before it.
 *
 * A message stands where its turn started, not where it was committed: what the owner says while another turn runs is
 * committed before the answer of that turn, but belongs after it.
 */
export async function listTalk(db: Kysely<ReadModelTables>, talk: Talk): Promise<MessageRow[]> {
  const until = await findStart(db, talk.turnId);
  if (until === null) return [];
  const since = await findOldestStart(db, talk, until);
  const latestFirst = await db
    .selectFrom("messages")
    .leftJoin("turns", "turns.turn_id", "messages.turn_id")
    .selectAll("messages")
    .where("messages.thread_id", "=", talk.threadId)
    .where((where) =>
      where.or([
        where.and([where("turns.started_position", ">=", since), where("turns.started_position", "<", until)]),
        where.and([
          where("messages.turn_id", "is", null),
          where("messages.position", ">", since),
          where("messages.position", "<=", until),
        ]),
      ]),
    )
    .orderBy((by) => by.fn.coalesce("turns.started_position", "messages.position"), "desc")
    .orderBy("messages.position", "desc")
    .limit(talk.messagesMax)
    .execute();
  return latestFirst.reverse();
}

async function findStart(db: Kysely<ReadModelTables>, turnId: string): Promise<number | null> {
  const turn = await db.selectFrom("turns").select("started_position").where("turn_id", "=", turnId).executeTakeFirst();
  return turn?.started_position ?? null;
}

/** Where the first of the last `turnsMax` turns before `until` started; 0, the very beginning, if there are fewer. */
async function findOldestStart(db: Kysely<ReadModelTables>, talk: Talk, until: number): Promise<number> {
  if (talk.turnsMax === 0) return until;
  const oldest = await db
    .selectFrom("turns")
    .select("started_position")
    .where("thread_id", "=", talk.threadId)
    .where("started_position", "<", until)
    .orderBy("started_position", "desc")
    .offset(talk.turnsMax - 1)
    .limit(1)
    .executeTakeFirst();
  return oldest?.started_position ?? 0;
}
