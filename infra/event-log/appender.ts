import { hash } from "node:crypto";
import type { Database, Statement } from "better-sqlite3";
import canonicalize from "canonicalize";
import type {
  Append,
  Appended,
  AppendResult,
  CommandConflict,
  CommandKey,
  ExpectedVersion,
  StreamWrite,
} from "../../commands/ports/index.js";
import type { RecordedEvent } from "../../domain/shared/index.js";
import { digestOf, hashOf, saltBytes } from "./chain.js";
import { encode } from "./encoder.js";
import type { Entropy } from "./entropy.js";
import { isDiskTrouble } from "./errors.js";
import { requireSafe, type Heads } from "./heads.js";
import { compose, decode, toRecorded, type StoredEvent } from "./record.js";

export const appendEventsMax = 1_000;
export const eventBytesMax = 4 * 1024 * 1024;

interface FirstOfCommand {
  readonly position: number;
  readonly command_digest: Uint8Array;
  readonly salt: Uint8Array | null;
  readonly command_events: number;
}

/** An append that cannot be recorded at all: too large, or not what it says it is. */
interface Impossible {
  readonly outcome: "impossible";
  readonly error: unknown;
}

/** Turns appends into rows. Always called inside the writer's transaction. */
export class Appender {
  readonly #insert: Statement;
  readonly #findCommand: Statement<[string], FirstOfCommand>;
  readonly #readRange: Statement<[number, number], StoredEvent>;
  readonly #savepoint: Statement;
  readonly #release: Statement;
  readonly #rollback: Statement;
  readonly #keepSecret: Statement;
  readonly #forgetSecret: Statement;
  #recorded: RecordedEvent[] = [];

  constructor(
    private readonly db: Database,
    private readonly heads: Heads,
    private readonly entropy: Entropy,
  ) {
    this.#insert = db.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#findCommand = db.prepare(
      "SELECT position, command_digest, command_events, salt FROM events WHERE command_id = ?",
    );
    this.#readRange = db.prepare("SELECT * FROM events WHERE position BETWEEN ? AND ? ORDER BY position");
    this.#savepoint = db.prepare("SAVEPOINT append");
    this.#release = db.prepare("RELEASE append");
    this.#rollback = db.prepare("ROLLBACK TO append");
    this.#keepSecret = db.prepare("INSERT OR REPLACE INTO secrets (id, value) VALUES (?, ?)");
    this.#forgetSecret = db.prepare("DELETE FROM secrets WHERE id = ?");
  }

  /** Everything that was recorded since this was asked the last time. */
  takeRecorded(): readonly RecordedEvent[] {
    const recorded = this.#recorded;
    this.#recorded = [];
    return recorded;
  }

  /**
   * Each append of a group succeeds or fails by itself. One that is all of its transaction, or a single statement,
   * is undone whole anyway; any other has a savepoint.
   */
  appendGroup(appends: readonly Append[]): readonly (AppendResult | Impossible)[] {
    if (appends.length === 1) return appends.map((append) => this.append(append));
    return appends.map((append) => this.#appendAlone(append));
  }

  #appendAlone(append: Append): AppendResult | Impossible {
    const recordedBefore = this.#recorded.length;
    const needsSavepoint = eventsOf(append) > 1 || append.secrets !== undefined;
    if (needsSavepoint) this.#savepoint.run();
    try {
      return this.append(append);
    } catch (error) {
      if (isDiskTrouble(error)) throw error;
      if (needsSavepoint) this.#rollback.run();
      this.heads.forget();
      this.#recorded.length = recordedBefore;
      return { outcome: "impossible", error };
    } finally {
      if (needsSavepoint && this.db.inTransaction) this.#release.run();
    }
  }

  recall(command: CommandKey): Appended | CommandConflict | null {
    const first = this.#findCommand.get(command.id);
    if (first === undefined) return null;
    // Once erased, nothing tells what was asked, and the key alone has to do.
    if (first.salt !== null && !digestOfCommand(first.salt, askedBy(command)).equals(first.command_digest)) {
      return { outcome: "command_conflict", commandId: command.id };
    }
    const rows = this.#readRange.all(first.position, first.position + first.command_events - 1);
    return { outcome: "appended", events: rows.map((row) => decode(row, this.db.name)), repeated: true };
  }

  append(append: Append): AppendResult {
    const { command, writes } = append;
    const recalled = command === undefined ? null : this.recall(command);
    if (recalled !== null) return recalled;
    for (const { stream, expected } of writes) {
      const actual = this.heads.streamVersion(stream);
      if (!isMet(expected, actual)) return { outcome: "version_conflict", stream, expected, actual };
    }
    const eventCount = eventsOf(append);
    if (eventCount > appendEventsMax) {
      throw new RangeError(`an append may hold ${appendEventsMax} events, not ${eventCount}`);
    }
    if (!Number.isSafeInteger(append.occurredAt)) {
      throw new RangeError(`time is counted in whole milliseconds, not ${append.occurredAt}`);
    }
    const occurredAt = new Date(append.occurredAt).toISOString();
    let key = command === undefined ? null : { id: command.id, asked: askedBy(command), events: eventCount };
    const events: RecordedEvent[] = [];
    for (const write of writes) {
      for (const fact of write.facts) {
        events.push(this.#record(write, fact, append.occurredAt, occurredAt, key));
        key = null; // Only a command's first event carries its key.
      }
    }
    for (const { id, value } of append.secrets?.keep ?? []) this.#keepSecret.run(id, value);
    for (const id of append.secrets?.forget ?? []) this.#forgetSecret.run(id);
    return { outcome: "appended", events, repeated: false };
  }

  #record(
    write: StreamWrite,
    fact: StreamWrite["facts"][number],
    occurredAtMillis: number,
    occurredAt: string,
    key: { id: string; asked: Buffer; events: number } | null,
  ): RecordedEvent {
    const { stream, threadId } = write;
    const previous = this.heads.log();
    const at = {
      eventId: this.entropy.eventId(),
      position: requireSafe(previous.position + 1, this.db.name),
      stream,
      version: requireSafe(this.heads.streamVersion(stream) + 1, this.db.name),
      threadId,
      sequence: threadId === null ? null : requireSafe(this.heads.threadSequence(threadId) + 1, this.db.name),
      occurredAt,
    };
    const envelope = compose(fact, write.provenance, at, occurredAtMillis);
    const salted = encode(envelope, saltBytes);
    const eventBytes = salted.length - saltBytes;
    if (eventBytes > eventBytesMax) throw new RangeError(`an event may take ${eventBytesMax} bytes, not ${eventBytes}`);
    this.entropy.fillSalt(salted);
    const salt = salted.subarray(0, saltBytes);
    const digest = digestOf(salted);
    const commandDigest = key === null ? null : digestOfCommand(salt, key.asked);
    const type = envelope.payload.case as string;
    const chained = hashOf(
      previous.hash,
      {
        position: at.position,
        event_id: at.eventId,
        stream,
        version: at.version,
        thread_id: threadId,
        sequence: at.sequence,
        type,
        command_id: key?.id ?? null,
        command_digest: commandDigest === null ? null : commandDigest.toString("hex"),
        command_events: key?.events ?? null,
        occurred_at: occurredAt,
      },
      digest,
    );
    this.#insert.run(
      at.position,
      at.eventId,
      stream,
      at.version,
      threadId,
      at.sequence,
      type,
      key?.id ?? null,
      commandDigest,
      key?.events ?? null,
      occurredAt,
      salted.subarray(saltBytes),
      salt,
      Buffer.from(digest, "hex"),
      Buffer.from(chained, "hex"),
    );
    this.heads.advanceLog({ position: at.position, hash: chained });
    this.heads.advanceStream(stream, at.version);
    if (threadId !== null && at.sequence !== null) this.heads.advanceThread(threadId, at.sequence);
    const recorded = toRecorded(at, envelope);
    this.#recorded.push(recorded);
    return recorded;
  }
}

export function eventsOf({ writes }: Append): number {
  return writes.reduce((sum, { facts }) => sum + facts.length, 0);
}

function isMet(expected: ExpectedVersion, actual: number): boolean {
  switch (expected) {
    case "any":
      return true;
    case "no_stream":
      return actual === 0;
    case "exists":
      return actual > 0;
    default:
      return actual === expected;
  }
}

function askedBy(command: CommandKey): Buffer {
  const asked = canonicalize(command.asked);
  if (asked === undefined) throw new TypeError(`command ${command.id}: what was asked cannot be written as JSON`);
  return Buffer.from(asked);
}

/** With the salt of the event, which is erased with it: what was asked often is what was said. */
function digestOfCommand(salt: Uint8Array, asked: Buffer): Buffer {
  return hash("sha256", Buffer.concat([salt, asked]), "buffer");
}
