import type { Logger } from "pino";
import type { ExecutorPorts } from "../../commands/approvals/executor-ports.js";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Ids, Timers } from "../../commands/ports/index.js";
import { isDiskTrouble } from "../event-log/index.js";
import type { Equipment } from "../server/equipment.js";

/** What the executor works with. */
export function executorPorts(
  foundation: Handling & { readonly ids: Ids; readonly clock: Clock; readonly timers: Timers },
  equipment: Equipment,
  logger: Logger,
): ExecutorPorts {
  return {
    ...foundation,
    ...equipment,
    onTrouble: (error, doing) => {
      logger.error({ err: error, doing }, "something broke");
    },
    isDiskTrouble,
  };
}
