import { hash } from "node:crypto";

export const saltBytes = 16;

/** What the first event's hash follows from. */
export const genesisHash = "0".repeat(64);

/** A row as the chain sees it: digests and hashes in hex. */
export interface ChainRow {
  readonly position: number;
  readonly event_id: string;
  readonly stream: string;
  readonly version: number;
  readonly thread_id: string | null;
  readonly sequence: number | null;
  readonly type: string;
  readonly command_id: string | null;
  readonly command_digest: string | null;
  readonly command_events: number | null;
  readonly occurred_at: string;
  readonly event: Uint8Array | null;
  readonly salt: Uint8Array | null;
  readonly digest: string;
  readonly hash: string;
}

/** `sha256(salt ‖ event)`: without the salt, a digest does not give away a guessed event. */
export function digestOf(saltedEvent: Uint8Array): string {
  return hash("sha256", saltedEvent, "hex");
}

/**
 * The link of the chain, in hex: sha256 over the previous hash, every column that survives erasure, and the digest.
 * Each is written as its length in bytes, a colon, and its text; a missing value as a dash. Numbers are decimal,
 * bytes are hex. So no two different rows read the same, and an auditor needs no library but sha256.
 */
export function hashOf(
  previousHash: string,
  row: Omit<ChainRow, "event" | "salt" | "digest" | "hash">,
  digest: string,
): string {
  return hash(
    "sha256",
    field(previousHash) +
      field(row.position.toString()) +
      field(row.event_id) +
      field(row.stream) +
      field(row.version.toString()) +
      field(row.thread_id) +
      field(row.sequence === null ? null : row.sequence.toString()) +
      field(row.type) +
      field(row.command_id) +
      field(row.command_digest) +
      field(row.command_events === null ? null : row.command_events.toString()) +
      field(row.occurred_at) +
      field(digest),
    "hex",
  );
}

function field(text: string | null): string {
  return text === null ? "-" : `${Buffer.byteLength(text)}:${text}`;
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
