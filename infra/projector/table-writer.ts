import type { Database, Statement } from "better-sqlite3";
import type { Write } from "../../projections/shared/projection.js";
import type { Row, Table } from "../../read-models/shared/table.js";

/** Where a table's rows are: in the table that is served, or in its shadow while that is rebuilt. */
export type Naming = (table: Table) => string;

export const served: Naming = (table) => table.name;
export const shadow: Naming = (table) => `${table.name}__shadow`;

/** Writes rows by prepared statements, one for each shape of change. */
export class TableWriter implements Write {
  readonly #inserts = new Map<Table, { readonly columns: readonly string[]; readonly statement: Statement }>();
  readonly #statements = new Map<string, Statement>();

  constructor(
    private readonly db: Database,
    private readonly naming: Naming,
  ) {}

  insert<T extends Table>(table: T, row: Row<T>): void {
    let inserting = this.#inserts.get(table);
    if (inserting === undefined) {
      const columns = Object.keys(table.columns);
      const values = columns.map(() => "?").join(", ");
      const statement = this.db.prepare(`INSERT INTO ${this.naming(table)} (${columns.join(", ")}) VALUES (${values})`);
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
    this.#run(`UPDATE ${this.naming(table)} SET ${changed.join(", ")} WHERE ${conditions(key)}`, [
      amount,
      ...valuesOf(changes),
      ...valuesOf(key),
    ]);
  }

  update<T extends Table>(table: T, key: Partial<Row<T>>, changes: Partial<Row<T>>): void {
    const changed = Object.keys(changes).map((column) => `${column} = ?`);
    this.#run(`UPDATE ${this.naming(table)} SET ${changed.join(", ")} WHERE ${conditions(key)}`, [
      ...valuesOf(changes),
      ...valuesOf(key),
    ]);
  }

  delete<T extends Table>(table: T, key: Partial<Row<T>>): void {
    this.#run(`DELETE FROM ${this.naming(table)} WHERE ${conditions(key)}`, valuesOf(key));
  }

  deleteBetween<T extends Table>(
    table: T,
    key: Partial<Row<T>>,
    column: keyof T["columns"] & string,
    first: number,
    last: number,
  ): void {
    this.#run(`DELETE FROM ${this.naming(table)} WHERE ${conditions(key)} AND ${column} BETWEEN ? AND ?`, [
      ...valuesOf(key),
      first,
      last,
    ]);
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

function conditions(key: object): string {
  return Object.keys(key)
    .map((column) => `${column} = ?`)
    .join(" AND ");
}
