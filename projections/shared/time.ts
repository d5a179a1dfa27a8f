import { toInstant, toText, type Timestamp } from "../../domain/shared/index.js";

/** A time in a payload as the tables hold it. One that is missing is long past. */
export function textOf(timestamp: Timestamp | undefined): string {
  return toText(timestamp === undefined ? 0 : toInstant(timestamp));
}
