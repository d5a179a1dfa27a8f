import type { Instant } from "../../domain/shared/index.js";

export interface Clock {
  now(): Instant;
}
