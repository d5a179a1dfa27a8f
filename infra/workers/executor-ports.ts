import type { Logger } from "pino";
import type { ExecutorPorts } from "../../commands/approvals/execute-action.js";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Ids } from "../../commands/ports/index.js";
import { systemTimers } from "../ports/system-timers.js";
import type { Equipment } from "../server/equipment.js";

/** What the executor works with. */
export function executorPorts(
  foundation: Handling & { readonly ids: Ids; readonly clock: Clock },
  equipment: Equipment,
  logger: Logger,
): ExecutorPorts {
  return {
    ...foundation,
    ...equipment,
    timers: systemTimers,
    onTrouble: (error, doing) => {
      logger.error({ err: error, doing }, "something broke");
    },
  };
}
