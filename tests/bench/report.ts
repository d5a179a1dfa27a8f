import type { Bound, Measured } from "./measure.js";

export interface Result {
  readonly name: string;
  readonly bound: Bound | null;
  readonly measured: Measured;
  readonly kept: boolean;
}

const widths = [26, 12, 12, 10, 8, 12, 6];

export const tableHead = aligned(["name", "ours", "peer", "unit", "ratio", "bound", "kept"]);

export function toTableLine({ name, bound, measured: { ours, peer, ratio, unit }, kept }: Result): string {
  return aligned([
    name,
    rounded(ours),
    peer === null ? "" : rounded(peer),
    unit,
    ratio === null ? "" : ratio.toFixed(2),
    bound === null ? "" : "atLeast" in bound ? `>= ${bound.atLeast}` : `<= ${bound.atMost}`,
    bound === null ? "" : kept ? "yes" : "NO",
  ]);
}

export function toJsonLine({ name, bound, measured: { ratio, ours, peer, unit, extra }, kept }: Result): string {
  return JSON.stringify({ name, ratio, ours, peer, unit, ...bound, ...(bound !== null && { kept }), ...extra });
}

/** Names to the left, figures to the right. */
function aligned(cells: readonly string[]): string {
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(widths[index]!) : cell.padStart(widths[index]!)))
    .join(" ")
    .trimEnd();
}

function rounded(figure: number): string {
  return figure.toLocaleString("en-US", { maximumFractionDigits: figure < 100 ? 1 : 0 });
}
