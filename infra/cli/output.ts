import { unseen } from "../../domain/shared/index.js";

type TableRow = Readonly<Record<string, string | number | boolean | null>>;

/**
 * Where a command's answer goes: one JSON value a line for programs, text for people. Either way nothing gets through
 * that a terminal would obey, whoever wrote it.
 */
export interface Output {
  /** One thing: as JSON, or as the text that is made of it. */
  print<T>(value: T, toText: (value: T) => string): void;
  /** Several things of a kind: as one JSON value each, or as a table. */
  printTable(rows: readonly TableRow[]): void;
}

export function createOutput(isJson: boolean, write: (text: string) => void): Output {
  // In JSON, what is escaped can only be inside of a string, where it means the same.
  const toJson = (value: unknown) => `${printable(JSON.stringify(value))}\n`;
  return {
    print: (value, toText) => {
      write(isJson ? toJson(value) : `${toText(value).split("\n").map(printable).join("\n")}\n`);
    },
    printTable: (rows) => {
      write(isJson ? rows.map(toJson).join("") : toTable(rows));
    },
  };
}

function toTable(rows: readonly TableRow[]): string {
  const [first] = rows;
  if (first === undefined) return "";
  const columns = Object.keys(first);
  const cells = [columns, ...rows.map((row) => columns.map((column) => printable(String(row[column] ?? "-"))))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  const isNumber = columns.map((column) => rows.some((row) => typeof row[column] === "number"));
  const lines = cells.map((line) =>
    line
      .map((cell, index) => (isNumber[index] ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

/** For one line on a terminal: what a terminal would obey, and what nobody would see, as JSON would escape it. */
export function printable(text: string): string {
  return text.replaceAll(unseen, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
