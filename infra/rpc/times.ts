import { timestampFromMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import { refuse, toInstant, toText } from "../../domain/shared/index.js";
import { toConnectError } from "./refusal.js";

/** What protobuf calls a time: from the year 1 to the end of 9999. Tables compare times as texts, which needs no more. */
const secondsMin = -62_135_596_800n;
const secondsMax = 253_402_300_799n;
const nanosMax = 999_999_999;

/** A time of a table, on the wire. */
export function timestampOf(text: string): Timestamp {
  return timestampFromMs(Date.parse(text));
}

export function timestampIfAny(text: string | null): Timestamp | undefined {
  return text === null ? undefined : timestampOf(text);
}

/** A time of the wire, as tables write it. `field` is where it came in, for whoever sent none. */
export function textOf(timestamp: Timestamp, field: string): string {
  const { seconds, nanos } = timestamp;
  const isTime = seconds >= secondsMin && seconds <= secondsMax && nanos >= 0 && nanos <= nanosMax;
  if (!isTime) throw toConnectError(refuse("value_unknown", { field }));
  return toText(toInstant(timestamp));
}
