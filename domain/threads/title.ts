const titleLengthMax = 60;
const lineLengthMax = 500;
const ellipsis = "…";

/** A short title for a thread, from the first thing said in it: its first line, cut between words. */
export function titleOf(text: string): string {
  const firstLine = text.split(/\r?\n/u).find((line) => bare(line) !== "") ?? "";
  // Each character that is looked at carries the line it is from: a long line would be too much.
  const title = bare(firstLine).slice(0, lineLengthMax).toWellFormed();
  if (lengthOf(title) <= titleLengthMax) return title;
  const cut = [...new Intl.Segmenter().segment(title)]
    .slice(0, titleLengthMax - 1)
    .map(({ segment }) => segment)
    .join("");
  const atWord = cut.replace(/\s+\S*$/u, "");
  return `${(atWord === "" ? cut : atWord).trimEnd()}${ellipsis}`;
}

/** Without what is for a page and not for a list: marks of headings and lists, and what cannot be seen. */
function bare(line: string): string {
  return line
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, " ")
    .replace(/^\s*(?:#{1,6}\s+|[-*+]\s+|>\s+)+/u, "")
    .replaceAll(/\s+/gu, " ")
    .trim();
}

/** As people count: a flag is one character. */
function lengthOf(text: string): number {
  return [...new Intl.Segmenter().segment(text)].length;
}
