import { refuse } from "../../domain/shared/index.js";
import { toConnectError } from "./refusal.js";

const pageSizeDefault = 50;
export const pageSizeMax = 200;

/** Rows are read in one direction by their position, so a page goes on where the last one ended, whatever came meanwhile. */
export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/**
 * Reads one page. `list` names it, so that a token of one list is not taken for another's. `start` is where the first
 * page begins. It asks for one row more than a page holds: that tells whether there is another.
 */
export async function page<Row extends { readonly position: number }>(
  list: string,
  { pageSize, pageToken }: PageRequest,
  start: number,
  read: (from: number, limit: number) => Promise<Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly nextPageToken: string }> {
  const limit = Math.min(pageSize === 0 ? pageSizeDefault : pageSize, pageSizeMax);
  const found = await read(pageToken === "" ? start : readToken(list, pageToken), limit + 1);
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const isMore = found.length > limit && last !== undefined;
  return { rows, nextPageToken: isMore ? writeToken(list, last.position) : "" };
}

function writeToken(list: string, position: number): string {
  return Buffer.from(`${list}:${position}`).toString("base64url");
}

function readToken(list: string, token: string): number {
  const [named, position = "", ...rest] = Buffer.from(token, "base64url").toString("latin1").split(":");
  const isOurs = named === list && rest.length === 0 && /^\d{1,16}$/.test(position);
  if (!isOurs || !Number.isSafeInteger(Number(position))) throw toConnectError(refuse("page_token_invalid"));
  return Number(position);
}
