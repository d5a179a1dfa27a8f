import type { Kysely } from "kysely";
import { table, type Row } from "../shared/table.js";
import type { ReadModelTables } from "../tables.js";

export const artifacts = table(
  "artifacts",
  {
    artifact_id: "text",
    user_id: "text",
    thread_id: "text",
    job_id: "text?",
    /** Its media type. */
    type: "text",
    title: "text",
    created_at: "text",
    position: "integer",
    /** The last column, so that the others are read without going through it. */
    blob: "blob",
  },
  { primaryKey: ["artifact_id"], indexes: [["thread_id", "position"], ["position"]] },
);

export type ArtifactRow = Row<typeof artifacts>;

/** The artifacts of a thread without their content, newest first; `beforePosition` is the last one's of the page before. */
export function listArtifacts(
  db: Kysely<ReadModelTables>,
  page: { readonly threadId: string; readonly beforePosition: number; readonly limit: number },
): Promise<Omit<ArtifactRow, "blob">[]> {
  return db
    .selectFrom("artifacts")
    .select(["artifact_id", "user_id", "thread_id", "job_id", "type", "title", "created_at", "position"])
    .where("thread_id", "=", page.threadId)
    .where("position", "<", page.beforePosition)
    .orderBy("position", "desc")
    .limit(page.limit)
    .execute();
}

export function findArtifact(db: Kysely<ReadModelTables>, artifactId: string): Promise<ArtifactRow | undefined> {
  return db.selectFrom("artifacts").selectAll().where("artifact_id", "=", artifactId).executeTakeFirst();
}
