import type { PayloadOf } from "../../domain/shared/index.js";
import type { Row, Table } from "../../read-models/shared/table.js";
import type { Write } from "./projection.js";

/** Deletes what was made from erased events, of the rows with a key; they know the position of the event they are from. */
export function deleteErased<T extends Table & { readonly columns: { readonly position: "integer" } }>(
  erasure: PayloadOf<"eventsErased"> | null,
  table: T,
  key: Partial<Row<T>>,
  write: Write,
): void {
  for (const { first, last } of erasure?.ranges ?? []) {
    write.delete(table, key, { column: "position", first: Number(first), last: Number(last) });
  }
}
