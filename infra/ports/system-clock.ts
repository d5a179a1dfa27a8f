import type { Clock } from "../../commands/ports/index.js";

export const systemClock: Clock = { now: () => Date.now() };
