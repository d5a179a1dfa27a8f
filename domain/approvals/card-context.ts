import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Identity } from "../../proto/gen/pincer/protocol/v1/common_pb.js";

/** A digest of a value as canonical JSON (RFC 8785): the same value, the same bytes. */
export type Hash = (value: JsonValue) => Uint8Array;

/** What a tool knows of a call: who and what is concerned. It renders nothing itself. */
export interface CallSubject {
  /** What would be done, in one line. */
  readonly summary: string;
  /** Whom or what it is done to. */
  readonly target: string;
  readonly recipients: readonly string[];
  readonly urls: readonly string[];
  /** All that would be sent or written; empty if there is nothing such. */
  readonly body: string;
  /** What is there now, if it would be changed. */
  readonly before?: string;
  /** Whatever else matters, by name. */
  readonly details?: Readonly<Record<string, string>>;
}

/** Something that the thread has read, and that others wrote. */
export interface UntrustedSource {
  readonly tool: string;
  readonly origin: string;
  readonly text: string;
  /** Where in the log; none if it was read just now. */
  readonly position?: number;
}

/** What the owner has said once. */
export interface OwnerWords {
  readonly position: number;
  readonly text: string;
}

/** What is around a call that a card tells of. */
export interface CardContext {
  readonly identity: Identity;
  readonly hash: Hash;
  readonly untrusted: readonly UntrustedSource[];
  /** What the owner has said in the thread. */
  readonly ownerWords: readonly OwnerWords[];
  /** The thread has read more than there is in `untrusted`. */
  readonly isCutOff: boolean;
  /** The card of the revision before, if this is another. */
  readonly previous: JsonObject | null;
}
