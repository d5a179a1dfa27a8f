/** What a column holds; a question mark says that it may be null. */
interface Kinds {
  text: string;
  "text?": string | null;
  integer: number;
  "integer?": number | null;
  blob: Uint8Array;
  "blob?": Uint8Array | null;
}

type ColumnKind = keyof Kinds;
export type Columns = Readonly<Record<string, ColumnKind>>;

/** One table of the read models: its definition makes the SQL, the digest and the types. */
export interface Table<C extends Columns = Columns> {
  readonly name: string;
  readonly columns: C;
  readonly primaryKey: readonly string[];
  readonly unique: readonly (readonly string[])[];
  readonly indexes: readonly (readonly string[])[];
}

export type Row<T extends Table> = { -readonly [K in keyof T["columns"]]: Kinds[T["columns"][K]] };

interface Keys<Column> {
  readonly primaryKey: readonly Column[];
  readonly unique?: readonly (readonly Column[])[];
  readonly indexes?: readonly (readonly Column[])[];
}

export function table<const C extends Columns>(name: string, columns: C, keys: Keys<keyof C & string>): Table<C> {
  return { name, columns, unique: [], indexes: [], ...keys };
}
