/**
 * - `busy`, `full`: nothing was recorded; the same append may be tried again.
 * - `overloaded`: more appends wait than may; try again later.
 * - `failed`: the disk failed while writing. This log acknowledges nothing more until it is opened anew.
 * - `broken`: what is stored cannot be what was written.
 * - `foreign`: not a Pincer log, or one of a newer version.
 * - `unavailable`: the file cannot be opened or written.
 */
export type LogTrouble = "busy" | "full" | "overloaded" | "failed" | "broken" | "foreign" | "unavailable";

/** A disk or file that does not do its part. Names the file, and the position where there is one. */
export class LogError extends Error {
  override readonly name = "LogError";

  constructor(
    readonly trouble: LogTrouble,
    readonly file: string,
    readonly position: number | null,
    what: string,
    options?: ErrorOptions,
  ) {
    super(`${file}${position === null ? "" : `, position ${position}`}: ${what}`, options);
  }
}

/** SQLite's result code of an error, or of what caused it, such as `SQLITE_FULL`; "" if SQLite has no part in it. */
export function sqliteCode(error: unknown): string {
  // Not by `instanceof`: the native module makes its errors in the realm that loaded it first.
  if (typeof error !== "object" || error === null) return "";
  if ("code" in error && typeof error.code === "string" && error.code.startsWith("SQLITE_")) return error.code;
  return "cause" in error ? sqliteCode(error.cause) : "";
}

/** What SQLite says when the values are to blame. The statements are ours. */
const valueTrouble = ["CONSTRAINT", "MISMATCH", "RANGE", "TOOBIG"];

/** Whether the disk or the file is to blame, and not what was to be written. */
export function isDiskTrouble(error: unknown): boolean {
  const [, kind] = sqliteCode(error).split("_");
  return error instanceof LogError || (kind !== undefined && !valueTrouble.includes(kind));
}

export function toLogError(error: unknown, file: string): LogError {
  if (error instanceof LogError) return error;
  const [trouble, what] = explain(sqliteCode(error));
  return new LogError(trouble, file, null, `${what} (${String(error)})`, { cause: error });
}

function explain(code: string): [LogTrouble, string] {
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return ["busy", "another process is writing to the log"];
  }
  if (code === "SQLITE_FULL") return ["full", "the disk is full; nothing was recorded"];
  if (code === "SQLITE_NOTADB") return ["foreign", "this file is not a database"];
  if (code.startsWith("SQLITE_CORRUPT")) return ["broken", "the database file is damaged"];
  if (code.startsWith("SQLITE_READONLY")) return ["unavailable", "the log cannot be written"];
  if (code.startsWith("SQLITE_CANTOPEN")) return ["unavailable", "the log cannot be opened"];
  return ["failed", "the log could not be written"];
}
