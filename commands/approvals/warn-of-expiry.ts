import { approvalExpiring } from "../../domain/notifications/index.js";
import { handle, type Handled } from "../handle.js";
import { loadAction } from "./decide-action.js";
import type { ExecutorPorts } from "./executor-ports.js";
import { noticeOf } from "./settle-execution.js";

/** Tells the owner, once, that the time to decide is nearly over. */
export async function warnOfExpiry(ports: ExecutorPorts, actionId: string): Promise<Handled> {
  const place = await ports.lookups.action(actionId);
  return handle(ports, {
    at: ports.clock.now(),
    decide: (load) => {
      const action = loadAction(load, actionId);
      if (action.status !== "pending") return [];
      const notice = approvalExpiring((...parts) => ports.ids.derive(...parts), action.plan);
      return noticeOf(load, notice, actionId, place?.threadId ?? null, place?.turnId ?? null);
    },
  });
}
