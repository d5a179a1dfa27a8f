import { notes } from "../../read-models/memory/index.js";
import { deleteErased } from "../shared/erased.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";

/**
 * Notes are the owner's, and stay when their thread is deleted. The older texts of a note stay, too: an erased text
 * does not say whose it was, so all that a rebuild can show in its place is the one before.
 */
export const notesProjection: Projection = {
  name: "notes",
  version: 1,
  tables: [notes],
  on: {
    noteWritten({ threadId, payload, occurredAt, position }, write) {
      if (payload === null) return;
      const { noteId, title, text } = payload;
      write.insert(notes, {
        note_id: noteId,
        user_id: owner,
        thread_id: threadId,
        title,
        text,
        created_at: occurredAt,
        position,
      });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, notes, {}, write);
    },
  },
};
