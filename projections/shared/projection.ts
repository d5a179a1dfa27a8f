import type { EventType, RecordedEvent } from "../../domain/shared/index.js";
import type { Row, Table } from "../../read-models/shared/table.js";

/** Those of the rows whose `column` lies between two numbers, both included. */
export interface Between<T extends Table> {
  readonly column: keyof T["columns"] & string;
  readonly first: number;
  readonly last: number;
}

/**
 * The pen of a handler: changes to the tables of its own projection, and no others. There is no way to read, and no
 * "insert or update": delete, then insert. All of one event's changes and its checkpoint are one transaction.
 */
export interface Write {
  insert<T extends Table>(table: T, row: Row<T>): void;
  update<T extends Table>(table: T, key: Partial<Row<T>>, changes: Partial<Row<T>>, only?: Between<T>): void;
  /** Adds to a number, and makes other changes with it. */
  add<T extends Table>(
    table: T,
    key: Partial<Row<T>>,
    column: keyof T["columns"] & string,
    amount: number,
    changes?: Partial<Row<T>>,
  ): void;
  delete<T extends Table>(table: T, key: Partial<Row<T>>, only?: Between<T>): void;
}

export type Handler<T extends EventType = EventType> = (event: RecordedEvent<T>, write: Write) => void;

/**
 * Rows from events. A handler gets the event and a pen, nothing else, so that a rebuild ends where living through it
 * ended. `event.payload` is null when the event was erased; what an erasure takes away is taken away when
 * `eventsErased` comes by.
 */
export interface Projection {
  readonly name: string;
  /** Count up when the same events shall make other rows; when a table changes, that is noticed without it. */
  readonly version: number;
  readonly tables: readonly Table[];
  readonly on: { readonly [T in EventType]?: Handler<T> };
}
