import type { Notice } from "../../domain/notifications/index.js";
import { accept, nothing } from "../../domain/shared/index.js";
import type { Load, Proposal } from "../handle.js";
import { notificationStream } from "./streams.js";

const wasTold = () => true;

/** Queues a notice in a stream of its own, unless the owner was told the same already. */
export function tellOwner(load: Load, notice: Notice, where: Omit<Proposal, "decision" | "stream">): Proposal {
  const stream = notificationStream(notice.value.notificationId);
  return { ...where, stream, decision: load(stream, false, wasTold) ? nothing : accept(notice) };
}
