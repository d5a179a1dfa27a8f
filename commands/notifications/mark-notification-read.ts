import { accept, nothing, refuse, type Fact, type Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { notificationStream } from "./streams.js";

type Notification = "none" | "unread" | "read";

export interface MarkNotificationRead {
  readonly notificationId: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function markNotificationRead(handling: Handling, command: MarkNotificationRead): Promise<Handled> {
  const { notificationId, at, provenance } = command;
  const stream = notificationStream(notificationId);
  // Whoever watches the thread has seen that it was queued, and sees that it was read.
  const threadId = handling.log.readStream(stream, 0, 1)[0]?.threadId ?? null;
  return handle(handling, {
    at,
    decide: (load) => {
      const notification = load<Notification>(stream, "none", evolveNotification);
      if (notification === "none") return refuse("notification_not_found");
      const read = accept({ case: "notificationRead", value: { notificationId } });
      return { stream, threadId, provenance, decision: notification === "read" ? nothing : read };
    },
  });
}

function evolveNotification(notification: Notification, fact: Fact): Notification {
  switch (fact.case) {
    case "notificationQueued":
      return notification === "none" ? "unread" : notification;
    case "notificationRead":
      return "read";
    default:
      return notification;
  }
}
