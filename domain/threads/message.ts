import type { MessageRole } from "../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { accept, refuse, refuseText, type Decision } from "../shared/index.js";
import type { Thread } from "./thread.js";

export const messageTextBytesMax = 64 * 1024;

export interface MessageDraft {
  readonly messageId: string;
  readonly role: MessageRole;
  readonly text: string;
  readonly clientMessageId: string;
}

export function commitMessage(thread: Thread, draft: MessageDraft): Decision {
  switch (thread.status) {
    case "none":
      return refuse("thread_not_found");
    case "deleted":
      return refuse("thread_deleted");
    case "open":
      return refuseText(draft.text, messageTextBytesMax) ?? accept({ case: "messageCommitted", value: { ...draft } });
  }
}
