import type { EventType, LoggedEvent, PayloadOf } from "../../domain/shared/index.js";
import { ActorKind, type ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { auditLog, type AuditRow } from "../../read-models/audit/index.js";
import { owner } from "../shared/owner.js";
import type { Handler, Write } from "../shared/projection.js";
import { idIn } from "../shared/stream.js";

/** Ids, codes, hashes and numbers of an event; never what anybody wrote, nor what a tool was given or answered. */
type Said = Readonly<Record<string, string | number | boolean | null>>;

interface Told {
  /** What it is about; the thread or the owner, if it does not say. */
  readonly entity?: string;
  readonly action?: string;
  readonly said: Said;
}

/** No id or code of ours is as long. */
const textLengthMax = 200;

/** What is left of an entry whose event was erased: that it happened, when, and in which thread. */
const erased = { job_id: null, actor: "", payload_json: "{}" } satisfies Partial<AuditRow>;

const actorKinds: Readonly<Record<number, string>> = {
  [ActorKind.DEVICE]: "device",
  [ActorKind.MODEL]: "model",
  [ActorKind.WORKER]: "worker",
};

/** An entry of what an event says. */
export function entry<T extends EventType>(tell: (payload: PayloadOf<T>, envelope: ThreadEvent) => Told): Handler<T> {
  return (event, write) => {
    const { payload, envelope } = event;
    const told: Told = payload === null || envelope === null ? { said: {} } : tell(payload, envelope);
    const { entity = "", action = "", said } = told;
    enter(event, write, { entity: entity || null, action: action || null, said });
  };
}

/** An entry about the action whose stream it is in: that stays known when the event is erased. */
export function actionEntry<T extends EventType>(says: (payload: PayloadOf<T>) => Said): Handler<T> {
  return (event, write) => {
    const action = idIn(event.stream, "action");
    enter(event, write, { entity: action, action, said: event.payload === null ? {} : says(event.payload) });
  };
}

/** Takes away what erased events of one type, of one thread or of none, had said. */
export function blank(
  write: Write,
  of: { readonly threadId: string | null; readonly type: string; readonly isAction: boolean },
  first: number,
  last: number,
): void {
  const { threadId, type, isAction } = of;
  const changes = isAction ? erased : { ...erased, entity_id: threadId ?? owner, action_id: null };
  write.update(auditLog, { thread_id: threadId, event_type: type }, changes, { column: "position", first, last });
}

function enter(
  { eventId, type, threadId, envelope, occurredAt, position }: LoggedEvent & { readonly type: EventType },
  write: Write,
  told: { readonly entity: string | null; readonly action: string | null; readonly said: Said },
): void {
  write.insert(auditLog, {
    ...erased,
    entry_id: eventId,
    event_type: type,
    entity_id: told.entity ?? threadId ?? owner,
    thread_id: threadId,
    action_id: told.action,
    ...(envelope !== null && { job_id: envelope.jobId || null, actor: actorOf(envelope) }),
    payload_json: JSON.stringify(told.said, bounded),
    created_at: occurredAt,
    position,
  });
}

function bounded(_: string, value: unknown): unknown {
  return typeof value === "string" ? value.slice(0, textLengthMax).toWellFormed() : value;
}

/** There is one operator; of the others it is said which. */
function actorOf({ actor }: ThreadEvent): string {
  if (actor === undefined) return "";
  if (actor.kind === ActorKind.OPERATOR) return "operator";
  return `${actorKinds[actor.kind] ?? "somebody"}:${actor.id}`;
}
