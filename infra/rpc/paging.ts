import { z } from "zod";
import { refuse } from "../../domain/shared/index.js";
import { toConnectError } from "./refusal.js";

const pageSizeDefault = 50;
export const pageSizeMax = 200;
/** Of what the rows hold; a message may be several times as large as that, which is still less than it may be. */
export const pageBytesMax = 2 * 1024 * 1024;

/** Rows are read in one direction by their position, so a page goes on where the last one ended, whatever came meanwhile. */
export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/**
 * Reads one page. `list` names it, so that a token of one list is not taken for another's. `start` is where the first
 * page begins. It asks for one row more than a page holds: that tells whether there is another. A page of large rows has fewer.
 */
export async function page<Row extends Values & { readonly position: number }>(
  list: string,
  request: PageRequest,
  start: number,
  read: (from: number, limit: number) => Promise<Row[]>,
): Promise<Page<Row>> {
  const placeOf = ({ position }: Row) => position;
  return pageBy(list, request, placeOf, (place, limit) => read(place ?? start, limit), z.int().nonnegative());
}

/** The same for a list whose order takes more than a position: where a page ends is whatever `placeOf` says of its last row. */
export async function pageBy<Row extends Values, Place>(
  list: string,
  { pageSize, pageToken }: PageRequest,
  placeOf: (row: Row) => Place,
  read: (after: Place | null, limit: number) => Promise<Row[]>,
  placeSchema: z.ZodType<Place>,
): Promise<Page<Row>> {
  const limit = Math.min(pageSize === 0 ? pageSizeDefault : pageSize, pageSizeMax);
  const found = await read(pageToken === "" ? null : readToken(list, pageToken, placeSchema), limit + 1);
  const rows = withinBytes(found.slice(0, limit));
  const last = rows.at(-1);
  const isMore = found.length > rows.length && last !== undefined;
  return { rows, nextPageToken: isMore ? writeToken(list, placeOf(last)) : "" };
}

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly nextPageToken: string;
}

type Values = Readonly<Record<string, string | number | Uint8Array | null>>;

/** As many of the first ones as a page may hold, and one at the least. */
function withinBytes<Row extends Values>(rows: readonly Row[]): readonly Row[] {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += bytesOf(row);
    return index > 0 && bytes > pageBytesMax;
  });
  return end === -1 ? rows : rows.slice(0, end);
}

function bytesOf(row: Values): number {
  return Object.values(row).reduce<number>((sum, value) => {
    if (typeof value === "string") return sum + Buffer.byteLength(value);
    return value instanceof Uint8Array ? sum + value.length : sum;
  }, 0);
}

function writeToken(list: string, place: unknown): string {
  return Buffer.from(JSON.stringify([list, place])).toString("base64url");
}

function readToken<Place>(list: string, token: string, placeSchema: z.ZodType<Place>): Place {
  const parsed = z.tuple([z.literal(list), placeSchema]).safeParse(fromJson(token));
  if (!parsed.success) throw toConnectError(refuse("page_token_invalid"));
  return parsed.data[1];
}

function fromJson(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
  } catch {
    return null; // Whatever it is, it is none of ours, and is refused as that.
  }
}
