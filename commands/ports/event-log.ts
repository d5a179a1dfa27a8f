import type { ActorKind } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import type { ContentTrust, EventSource } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { Instant, NewFact, RecordedEvent } from "../../domain/shared/index.js";

/** What a stream's version must be for a write to count. A number is the exact version last seen. */
export type ExpectedVersion = "any" | "no_stream" | "exists" | number;

/** Where facts come from, and who and what caused them. */
export interface Provenance {
  readonly source: EventSource;
  readonly contentTrust: ContentTrust;
  readonly actor: { readonly kind: ActorKind; readonly id: string };
  readonly turnId?: string;
  readonly jobId?: string;
  readonly causationId?: string;
  readonly correlationId?: string;
}

export interface StreamWrite {
  readonly stream: string;
  readonly expected: ExpectedVersion;
  /** The thread whose watchers see these facts; null for the owner's own affairs. */
  readonly threadId: string | null;
  /** May be empty: then only the expectation is checked. */
  readonly facts: readonly NewFact[];
  readonly provenance: Provenance;
}

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** What makes a retry recognisable: its key, and what was asked, so that another request under the same key shows. */
export interface CommandKey {
  readonly id: string;
  readonly asked: JsonValue;
}

/** What must not be in the log, because it could never be taken back: hashes of tokens, keys. By id; events carry that. */
export interface SecretChanges {
  readonly keep: readonly { readonly id: string; readonly value: Uint8Array }[];
  readonly forget: readonly string[];
}

export interface Append {
  readonly occurredAt: Instant;
  readonly writes: readonly StreamWrite[];
  readonly command?: CommandKey;
  /** Kept and forgotten in the same transaction. A repeated command changes none. */
  readonly secrets?: SecretChanges;
}

export interface Appended {
  readonly outcome: "appended";
  readonly events: readonly RecordedEvent[];
  /** The command was recorded before, and these are the events of that first time. */
  readonly repeated: boolean;
}

export interface VersionConflict {
  readonly outcome: "version_conflict";
  readonly stream: string;
  readonly expected: ExpectedVersion;
  readonly actual: number;
}

/** The key was used before, to ask for something else. */
export interface CommandConflict {
  readonly outcome: "command_conflict";
  readonly commandId: string;
}

export type AppendResult = Appended | VersionConflict | CommandConflict;

export interface EventLog {
  /**
   * Records all facts of all writes, or none. When it resolves with `appended`, they survive a power cut.
   * Conflicts are answers. A full, busy or broken disk rejects; then nothing was acknowledged.
   */
  append(append: Append): Promise<AppendResult>;

  /** What an append with this key would answer because it was recorded before; null if it was not. */
  recall(command: CommandKey): Appended | CommandConflict | null;

  /** The version of a stream's last event, whoever wrote it; 0 if there is none. */
  streamVersion(stream: string): number;

  /** Events of one stream with a version above `afterVersion`, in order, at most `limit`. */
  readStream(stream: string, afterVersion: number, limit: number): readonly RecordedEvent[];
}

export interface Secrets {
  /** null if there is none, or it was forgotten. */
  secret(id: string): Uint8Array | null;
}
