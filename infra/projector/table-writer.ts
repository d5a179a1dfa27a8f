import type { Database, Statement } from "better-sqlite3";
import type { Between, Write } from "../../projections/shared/projection.js";
import type { Row, Table } from "../../read-models/shared/table.js";

/** Where a table's rows are: in the table that is served, or in its shadow while that is rebuilt. */
export type Naming = (table: Table) => string;

export const served: Naming = (table) => table.name;
export const shadowSuffix = "__shadow";
export const shadow: Naming = (table) => table.name + shadowSuffix;

/** Writes rows of some tables, and of no others, by prepared statements, one for each shape of change. */
export class TableWriter implements Write {
  readonly #inserts = new Map<Table, { readonly columns: readonly string[]; readonly statement: Statement }>();
  readonly #statements = new Map<string, Statement>();

  constructor(
    private readonly db: Database,
    private readonly naming: Naming,
    private readonly tables: readonly Table[],
  ) {}

  insert<T extends Table>(table: T, row: Row<T>): void {
    let inserting = this.#inserts.get(table);
    if (inserting === undefined) {
      const columns = Object.keys(table.columns);
      const values = columns.map(() => "?").join(", ");
      const statement = this.db.prepare(
        `INSERT INTO ${this.#nameOf(table)} (${columns.join(", ")}) VALUES (${values})`,
      );
      this.#inserts.set(table, (inserting = { columns, statement }));
    }
    inserting.statement.run(...inserting.columns.map((column) => row[column]));
  }

  add<T extends Table>(
    table: T,
    key: Partial<Row<T>>,
    column: keyof T["columns"] & string,
    amount: number,
    changes: Partial<Row<T>> = {},
  ): void {
    const changed = [`${column} = ${column} + ?`, ...Object.keys(changes).map((name) => `${name} = ?`)];
    this.#run(`UPDATE ${this.#nameOf(table)} SET ${changed.join(", ")} WHERE ${conditions(key)}`, [
      amount,
      ...valuesOf(changes),
      ...valuesOf(key),
    ]);
  }

  update<T extends Table>(table: T, key: Partial<Row<T>>, changes: Partial<Row<T>>, only?: Between<T>): void {
    const changed = Object.keys(changes).map((column) => `${column} = ?`);
    this.#run(`UPDATE ${this.#nameOf(table)} SET ${changed.join(", ")} WHERE ${conditions(key, only)}`, [
      ...valuesOf(changes),
      ...valuesOf(key),
      ...bounds(only),
    ]);
  }

  delete<T extends Table>(table: T, key: Partial<Row<T>>, only?: Between<T>): void {
    this.#run(`DELETE FROM ${this.#nameOf(table)} WHERE ${conditions(key, only)}`, [...valuesOf(key), ...bounds(only)]);
  }

  #nameOf(table: Table): string {
    if (!this.tables.includes(table)) throw new Error(`table "${table.name}" is not one of its own`);
    return this.naming(table);
  }

  #run(sql: string, parameters: unknown[]): void {
    this.#prepare(sql).run(...parameters);
  }

  #prepare(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.db.prepare(sql)));
    return statement;
  }
}

function valuesOf(row: object): unknown[] {
  return Object.values(row);
}

function bounds(only: { readonly first: number; readonly last: number } | undefined): unknown[] {
  return only === undefined ? [] : [only.first, only.last];
}

/** IS and not =, so that null is a value like others; SQLite uses the same indexes for it. */
function conditions(key: object, only?: { readonly column: string }): string {
  const equal = Object.keys(key).map((column) => `${column} IS ?`);
  return [...equal, ...(only === undefined ? [] : [`${only.column} BETWEEN ? AND ?`])].join(" AND ");
}
