import { timestampFromMs, timestampMs, type Timestamp } from "@bufbuild/protobuf/wkt";

/** A time of a table, on the wire. */
export function timestampOf(text: string): Timestamp {
  return timestampFromMs(Date.parse(text));
}

export function timestampIfAny(text: string | null): Timestamp | undefined {
  return text === null ? undefined : timestampOf(text);
}

/** A time of the wire, as tables write it. */
export function textOf(timestamp: Timestamp): string {
  return new Date(timestampMs(timestamp)).toISOString();
}
