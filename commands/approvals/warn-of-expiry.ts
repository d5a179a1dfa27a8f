import { notificationQueued } from "../../domain/notifications/index.js";
import { handle, type Handled } from "../handle.js";
import { notificationStream } from "../notifications/streams.js";
import { loadAction } from "./decide-action.js";
import { noticeOf, type ExecutorPorts } from "./execute-action.js";

const wasTold = () => true;

/** Tells the owner, once, that the time to decide is nearly over. */
export async function warnOfExpiry(ports: ExecutorPorts, actionId: string): Promise<Handled> {
  const place = await ports.lookups.action(actionId);
  const notice = notificationQueued((...parts) => ports.ids.derive(...parts), {
    type: "approval_expiring",
    reason: "",
    resourceKind: "action",
    resourceId: actionId,
  });
  return handle(ports, {
    at: ports.clock.now(),
    decide: (load) => {
      const isTold = load(notificationStream(notice.value.notificationId), false, wasTold);
      const isPending = loadAction(load, actionId).status === "pending";
      if (isTold || !isPending) return [];
      return noticeOf(notice, actionId, place?.threadId ?? null, place?.turnId ?? null);
    },
  });
}
