import type { Instant } from "../../domain/shared/index.js";
import {
  commitMessage as decideToCommit,
  evolveThread,
  initialThread,
  type MessageDraft,
} from "../../domain/threads/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Ids, Provenance } from "../ports/index.js";
import { messagesStream, threadStream } from "./streams.js";

export interface CommitMessage extends Omit<MessageDraft, "messageId"> {
  readonly threadId: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

/** The message's id is derived from the client's: sent again, it is the same message. */
export function commitMessage(handling: Handling & { readonly ids: Ids }, command: CommitMessage): Promise<Handled> {
  const { threadId, role, text, clientMessageId, at, provenance } = command;
  const messageId = handling.ids.derive("message", threadId, clientMessageId);
  return handle(handling, {
    at,
    key: { id: `commit-message:${messageId}`, asked: { threadId, role, text } },
    decide: (load) => {
      const thread = load(threadStream(threadId), initialThread, evolveThread);
      const decision = decideToCommit(thread, { messageId, role, text, clientMessageId });
      return { stream: messagesStream(threadId), threadId, provenance, decision };
    },
  });
}
