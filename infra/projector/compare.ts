import { createHash } from "node:crypto";
import type { Database } from "better-sqlite3";
import type { RecordedEvent } from "../../domain/shared/index.js";
import type { Handler, Projection, Write } from "../../projections/shared/projection.js";
import type { Table } from "../../read-models/shared/table.js";
import type { LogReader } from "../event-log/index.js";
import { rebuild, type RebuildOptions } from "./rebuild.js";
import { staleProjections } from "./stale.js";
import { withTemporaryStore } from "./temporary.js";
import type { ReadModelView } from "./view.js";

const differencesShownMax = 20;

type AnyRow = Readonly<Record<string, unknown>>;

export interface TableComparison {
  readonly projection: string;
  readonly table: string;
  /** The position up to which the served rows were compared. */
  readonly position: number;
  readonly rows: number;
  /** sha256 over every row in order of the primary key; equal when the tables are. */
  readonly servedDigest: string;
  readonly rebuiltDigest: string;
  /** The first rows that differ: null where one side has none. */
  readonly differences: readonly { readonly served: AnyRow | null; readonly rebuilt: AnyRow | null }[];
}

/** Rebuilds into a temporary file and compares every table with the one that is served, at the served checkpoint. */
export async function compareWithRebuild(
  log: LogReader,
  served: { openView(): ReadModelView },
  projections: readonly Projection[],
  options: Pick<RebuildOptions, "signal" | "onProgress"> = {},
): Promise<TableComparison[]> {
  // A view of its own: what is compared stands still, while the server goes on writing beside it.
  const view = served.openView();
  try {
    const stale = staleProjections(log, view, projections).map(({ name }) => name);
    if (stale.length > 0) throw new Error(`${view.file}: ${stale.join(", ")} must be rebuilt first`);
    const positionOf = ({ name }: Projection) => view.checkpoints().get(name)?.position ?? 0;
    const limited = projections.map((projection) => stoppedAt(projection, positionOf(projection)));
    const through = Math.max(0, ...projections.map(positionOf));
    return await withTemporaryStore(async (rebuilt) => {
      await rebuild(log, rebuilt, limited, { ...options, through });
      return projections.flatMap((projection) =>
        projection.tables.map((table) => ({
          projection: projection.name,
          position: positionOf(projection),
          ...compareTable(view.db, rebuilt.db, table),
        })),
      );
    });
  } finally {
    view.close();
  }
}

/** The same projection, deaf to everything after a position. */
function stoppedAt(projection: Projection, position: number): Projection {
  const limited = Object.entries(projection.on as Record<string, Handler>).map(([type, handler]) => [
    type,
    (event: RecordedEvent, write: Write) => {
      if (event.position <= position) handler(event, write);
    },
  ]);
  return { ...projection, on: Object.fromEntries(limited) as Projection["on"] };
}

function compareTable(
  served: Database,
  rebuilt: Database,
  table: Table,
): Omit<TableComparison, "projection" | "position"> {
  const servedDigest = digestTable(served, table);
  const rebuiltDigest = digestTable(rebuilt, table);
  return {
    table: table.name,
    rows: rebuilt.prepare(`SELECT count(*) FROM ${table.name}`).pluck().get() as number,
    servedDigest,
    rebuiltDigest,
    differences: servedDigest === rebuiltDigest ? [] : findDifferences(served, rebuilt, table),
  };
}

function digestTable(db: Database, table: Table): string {
  const hash = createHash("sha256");
  for (const row of inKeyOrder(db, table)) hash.update(rowText(row, table));
  return hash.digest("hex");
}

function findDifferences(served: Database, rebuilt: Database, table: Table): TableComparison["differences"] {
  const differences: { served: AnyRow | null; rebuilt: AnyRow | null }[] = [];
  const left = inKeyOrder(served, table);
  const right = inKeyOrder(rebuilt, table);
  let a = left.next();
  let b = right.next();
  while (differences.length < differencesShownMax && !(a.done === true && b.done === true)) {
    const order = compareKeys(a, b, table);
    const servedRow = order <= 0 ? (a.value as AnyRow) : null;
    const rebuiltRow = order >= 0 ? (b.value as AnyRow) : null;
    if (servedRow === null || rebuiltRow === null || rowText(servedRow, table) !== rowText(rebuiltRow, table)) {
      differences.push({ served: servedRow, rebuilt: rebuiltRow });
    }
    if (order <= 0) a = left.next();
    if (order >= 0) b = right.next();
  }
  left.return?.();
  right.return?.();
  return differences;
}

function inKeyOrder(db: Database, table: Table): IterableIterator<AnyRow> {
  const columns = Object.keys(table.columns).join(", ");
  return db
    .prepare(`SELECT ${columns} FROM ${table.name} ORDER BY ${table.primaryKey.join(", ")}`)
    .iterate() as IterableIterator<AnyRow>;
}

function compareKeys(a: IteratorResult<AnyRow>, b: IteratorResult<AnyRow>, table: Table): number {
  if (a.done === true) return 1;
  if (b.done === true) return -1;
  for (const column of table.primaryKey) {
    const order = compareValues(a.value[column], b.value[column]);
    if (order !== 0) return order;
  }
  return 0;
}

/** As SQLite orders text and integers. */
function compareValues(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

/** Type, length and value of every column, so that no two different rows read the same. */
function rowText(row: AnyRow, table: Table): string {
  return Object.keys(table.columns)
    .map((column) => {
      const value = row[column];
      const text = value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
      return `${value === null ? "null" : typeof value}:${text.length}:${text};`;
    })
    .join("");
}
