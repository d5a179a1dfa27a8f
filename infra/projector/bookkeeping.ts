import { createHash } from "node:crypto";
import type { Database } from "better-sqlite3";
import type { Projection } from "../../projections/shared/projection.js";
import { pluck, sqliteCode } from "../event-log/index.js";

/** What the file holds besides the projections' tables, word for word as SQLite remembers it. */
const bookkeeping: Readonly<Record<string, string>> = {
  checkpoints:
    "CREATE TABLE checkpoints (projection TEXT PRIMARY KEY, definition TEXT NOT NULL, position INTEGER NOT NULL, hash TEXT NOT NULL) STRICT",
  rebuilds: "CREATE TABLE rebuilds (projection TEXT PRIMARY KEY, token TEXT NOT NULL) STRICT",
};

/** Up to which event a projection's rows tell the story. The hash tells which story. */
export interface Checkpoint {
  /** Of what made the rows. */
  readonly definition: string;
  readonly position: number;
  /** Hex. */
  readonly hash: string;
}

/** A database, but not one that this version of ours has made. */
class ForeignFile extends Error {
  override readonly name = "ForeignFile";
}

/** Whether an error, or what it was caused by, says that the file is not what was written. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT")) return true;
  return error instanceof ForeignFile || (error instanceof Error && error.cause !== undefined && isDamage(error.cause));
}

/** In a file that is empty. */
export function createBookkeeping(db: Database): void {
  const create = db.transaction(() => {
    if (isEmpty(db)) for (const sql of Object.values(bookkeeping)) db.exec(sql);
  });
  if (isEmpty(db)) create.immediate(); // Another process may be about to do the same.
}

/** Throws damage unless the tables of our own are what we make of them. */
export function requireBookkeeping(db: Database): void {
  const found = pluck<[string], string>(db, "SELECT sql FROM sqlite_schema WHERE name = ?");
  for (const [name, sql] of Object.entries(bookkeeping)) {
    if (found.get(name) !== sql) throw new ForeignFile(`its table "${name}" is not the one that this version makes`);
  }
}

export function readCheckpoints(db: Database): Map<string, Checkpoint> {
  const rows = db.prepare("SELECT * FROM checkpoints").all() as (Checkpoint & { projection: string })[];
  return new Map(rows.map(({ projection, ...checkpoint }) => [projection, checkpoint]));
}

const definitions = new WeakMap<Projection, string>();

/** Another one whenever the version or a table of the projection is: its rows must be made anew. */
export function definitionOf(projection: Projection): string {
  let definition = definitions.get(projection);
  if (definition === undefined) {
    const { version, tables } = projection;
    definition = createHash("sha256")
      .update(JSON.stringify([version, tables]))
      .digest("hex");
    definitions.set(projection, definition);
  }
  return definition;
}

function isEmpty(db: Database): boolean {
  return tableNames(db).length === 0;
}

export function tableNames(db: Database): string[] {
  return pluck<[], string>(
    db,
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'",
  ).all();
}

/** Drops what belongs to none of these: removed projections, and rebuilds that did not end. Answers if there was any. */
export function dropStrangers(db: Database, projections: readonly Projection[]): boolean {
  const tables = projections.flatMap((projection) => projection.tables.map(({ name }) => name));
  const known = new Set([...Object.keys(bookkeeping), ...tables]);
  const strangers = tableNames(db).filter((name) => !known.has(name));
  for (const name of strangers) db.exec(`DROP TABLE "${name.replaceAll('"', '""')}"`);
  const names = JSON.stringify(projections.map(({ name }) => name));
  db.prepare("DELETE FROM checkpoints WHERE projection NOT IN (SELECT value FROM json_each(?))").run(names);
  db.exec("DELETE FROM rebuilds");
  return strangers.length > 0;
}
