/** A moment, in milliseconds since 1970-01-01T00:00:00Z. It arrives in a command; the domain owns no clock. */
export type Instant = number;
