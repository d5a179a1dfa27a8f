import type { Database } from "better-sqlite3";
import type { Projection } from "../../projections/shared/projection.js";
import type { Table } from "../../read-models/shared/table.js";
import { pluck } from "../event-log/index.js";
import { tableNames } from "./bookkeeping.js";
import { served, shadow, shadowSuffix } from "./table-writer.js";

/** Empty shadow tables, instead of what a rebuild that did not finish may have left. `token` says whose they are. */
export function beginShadow(db: Database, projections: readonly Projection[], token: string): void {
  const own = db.prepare("INSERT OR REPLACE INTO rebuilds (projection, token) VALUES (?, ?)");
  for (const projection of projections) {
    for (const table of projection.tables) createShadow(db, table, token);
    own.run(projection.name, token);
  }
}

/** Whose the shadow tables are now: those that `token` began, those of a later rebuild, or gone. */
export function shadowOwner(
  db: Database,
  projections: readonly Projection[],
  token: string,
): "token" | "another" | "nobody" {
  const owner = pluck<[string], string>(db, "SELECT token FROM rebuilds WHERE projection = ?");
  const owners = projections.map(({ name }) => owner.get(name));
  if (owners.some((found) => found !== undefined && found !== token)) return "another";
  return owners.includes(undefined) ? "nobody" : "token";
}

/** Serves the shadow tables from now on. Call it in the transaction that saves their checkpoint. */
export function swapShadow(db: Database, projections: readonly Projection[]): void {
  for (const projection of projections) {
    for (const table of projection.tables) {
      db.exec(`DROP TABLE IF EXISTS ${served(table)}; ALTER TABLE ${shadow(table)} RENAME TO ${served(table)}`);
    }
    db.prepare("DELETE FROM rebuilds WHERE projection = ?").run(projection.name);
  }
}

export function dropShadow(db: Database, projections: readonly Projection[]): void {
  for (const projection of projections) {
    for (const table of projection.tables) db.exec(`DROP TABLE IF EXISTS ${shadow(table)}`);
    db.prepare("DELETE FROM rebuilds WHERE projection = ?").run(projection.name);
  }
}

/**
 * Of all rebuilds, dead or alive. What a dead one has copied nobody would ever erase; one that lives begins anew, and
 * reads the log as it is now.
 */
export function dropAllShadows(db: Database): void {
  for (const name of tableNames(db)) if (name.endsWith(shadowSuffix)) db.exec(`DROP TABLE "${name}"`);
  db.exec("DELETE FROM rebuilds");
}

/** Index names are the database's, not the table's, and outlive a rename: the token keeps old and new apart. */
function createShadow(db: Database, table: Table, token: string): void {
  const columns = Object.entries(table.columns).map(([name, kind]) => {
    const isNullable = kind.endsWith("?");
    return `${name} ${kind.replace("?", "").toUpperCase()}${isNullable ? "" : " NOT NULL"}`;
  });
  const unique = table.unique.map((key) => `UNIQUE (${key.join(", ")})`);
  const definition = [...columns, `PRIMARY KEY (${table.primaryKey.join(", ")})`, ...unique].join(", ");
  db.exec(`DROP TABLE IF EXISTS ${shadow(table)}; CREATE TABLE ${shadow(table)} (${definition}) STRICT`);
  for (const index of table.indexes) {
    db.exec(`CREATE INDEX "${table.name}_by_${index.join("+")}_${token}" ON ${shadow(table)} (${index.join(", ")})`);
  }
}
