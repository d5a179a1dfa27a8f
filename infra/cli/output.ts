/** Where a command's answer goes: one JSON value a line for programs, text for people. */
export interface Output {
  /** One thing: as JSON, or as the text that is made of it. */
  print<T>(value: T, toText: (value: T) => string): void;
  /** Several things of a kind: as one JSON value each, or as a table. */
  printTable(rows: readonly Readonly<Record<string, string | number | boolean | null>>[]): void;
}

export function createOutput(isJson: boolean, write: (text: string) => void): Output {
  return {
    print: (value, toText) => {
      write(`${isJson ? JSON.stringify(value) : toText(value)}\n`);
    },
    printTable: (rows) => {
      if (isJson) for (const row of rows) write(`${JSON.stringify(row)}\n`);
      else write(toTable(rows));
    },
  };
}

function toTable(rows: readonly Readonly<Record<string, string | number | boolean | null>>[]): string {
  const [first] = rows;
  if (first === undefined) return "";
  const columns = Object.keys(first);
  const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? "-")))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  const isNumber = columns.map((column) => typeof first[column] === "number");
  const lines = cells.map((line) =>
    line
      .map((cell, index) => (isNumber[index] ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

/** For terminals: whoever wrote this text may have put more than letters into it. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return `\\u${codePoint.toString(16).padStart(4, "0")}`;
  });
}
