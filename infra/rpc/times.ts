import { timestampFromMs, type Timestamp } from "@bufbuild/protobuf/wkt";

/** A time of a table, on the wire. */
export function toTimestamp(text: string): Timestamp {
  return timestampFromMs(Date.parse(text));
}

export function toTimestampIf(text: string | null): Timestamp | undefined {
  return text === null ? undefined : toTimestamp(text);
}
