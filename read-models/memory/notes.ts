import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

/** Every text that a note has had; the latest is the note. */
export const notes = table(
  "notes",
  {
    note_id: "text",
    user_id: "text",
    thread_id: "text?",
    title: "text",
    text: "text",
    created_at: "text",
    position: "integer",
  },
  { primaryKey: ["note_id", "position"], indexes: [["position"]] },
);

export type NoteRow = Row<typeof notes>;

/** Notes, the one written last first; `beforePosition` is the last one's of the page before. */
export function listNotes(
  db: Kysely<ReadModelTables>,
  page: { readonly beforePosition: number; readonly limit: number },
): Promise<NoteRow[]> {
  return db
    .selectFrom("notes")
    .selectAll()
    .where("position", "<", page.beforePosition)
    .where((where) => {
      const later = where
        .selectFrom("notes as later")
        .select("later.position")
        .whereRef("later.note_id", "=", "notes.note_id")
        .whereRef("later.position", ">", "notes.position");
      return where.not(where.exists(later));
    })
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
}
