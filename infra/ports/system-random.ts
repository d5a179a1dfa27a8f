import { randomBytes, randomInt } from "node:crypto";
import type { Random } from "../../commands/ports/index.js";

const steps = 2 ** 32;
const boundaryBytes = 12;

export const systemRandom: Random = {
  fraction: () => randomInt(steps) / steps,
  boundary: () => randomBytes(boundaryBytes).toString("hex"),
};
