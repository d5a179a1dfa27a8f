export interface Ids {
  /** A new UUIDv7: unique, and in the order they were made. */
  next(): string;
  /** The same id for the same parts, always: a UUIDv5. */
  derive(...parts: readonly string[]): string;
}
