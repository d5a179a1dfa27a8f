import type { StoredEvent } from "../../infra/event-log/index.js";
import type { Random } from "./random.js";

type Value = StoredEvent[keyof StoredEvent];

const integerBytes = 8;

/** What may be missing, and what to put in its place. */
const nullable = {
  thread_id: "",
  sequence: 1,
  command_id: "",
  command_digest: Buffer.alloc(32),
  command_events: 1,
  event: Buffer.alloc(32),
  salt: Buffer.alloc(16),
};

/** A row with one byte of one column changed, or with a value where there was none, or none where there was one. */
export interface Flip {
  readonly column: keyof StoredEvent;
  readonly row: StoredEvent;
}

/** Every way to change a row by a single byte, a random change each; numbers are changed as SQLite stores them. */
export function* flipsOf(row: StoredEvent, random: Random): Generator<Flip, void, void> {
  for (const column of Object.keys(row) as (keyof StoredEvent)[]) {
    const value = row[column];
    for (let index = 0; index < bytesIn(value); index++) {
      yield { column, row: { ...row, [column]: flipped(value, index, 1 + random.below(255)) } };
    }
    if (!(column in nullable)) continue;
    yield { column, row: { ...row, [column]: value === null ? nullable[column as keyof typeof nullable] : null } };
  }
}

function bytesIn(value: Value): number {
  if (value === null) return 0;
  return typeof value === "number" ? integerBytes : Buffer.byteLength(value);
}

function flipped(value: Value, index: number, mask: number): Value {
  if (value === null) return null;
  const bytes = typeof value === "number" ? integerOf(value) : Buffer.from(value as string);
  bytes.writeUInt8(bytes.readUInt8(index) ^ mask, index);
  if (typeof value === "number") return Number(bytes.readBigInt64BE());
  return typeof value === "string" ? bytes.toString("utf8") : bytes;
}

function integerOf(value: number): Buffer {
  const bytes = Buffer.alloc(integerBytes);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}
