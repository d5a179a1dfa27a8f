import type { Database } from "better-sqlite3";
import type { Projection } from "../../projections/shared/projection.js";
import type { Table } from "../../read-models/shared/table.js";
import { served, shadow } from "./table-writer.js";

/** Empty shadow tables, instead of what a rebuild that did not finish may have left. `token` says whose they are. */
export function beginShadow(db: Database, projections: readonly Projection[], token: string): void {
  const own = db.prepare("INSERT OR REPLACE INTO rebuilds (projection, token) VALUES (?, ?)");
  for (const projection of projections) {
    for (const table of projection.tables) createShadow(db, table, token);
    own.run(projection.name, token);
  }
}

/** Whether the shadow tables are still the ones that `token` began. */
export function ownsShadow(db: Database, projections: readonly Projection[], token: string): boolean {
  const owner = db.prepare<[string], string>("SELECT token FROM rebuilds WHERE projection = ?").pluck();
  return projections.every((projection) => owner.get(projection.name) === token);
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
    db.exec(`CREATE INDEX "${table.name}_by_${index.join("_")}_${token}" ON ${shadow(table)} (${index.join(", ")})`);
  }
}
