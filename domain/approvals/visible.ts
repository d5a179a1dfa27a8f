import { unseen } from "../shared/index.js";

const shownTextBytesMax = 64 * 1024;
const encoder = new TextEncoder();

/** Nothing on a card can pretend to be another line of it. */
export function oneLine(text: string): string {
  return visible(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Zs}]+/gu, " ")).trim();
}

/** Whole, but for what nobody would read; then it says so. */
export function cut(text: string): string {
  const bytes = encoder.encode(text);
  if (bytes.length <= shownTextBytesMax) return text;
  const start = new TextDecoder().decode(bytes.subarray(0, shownTextBytesMax));
  return `${start}\n… and ${bytes.length - shownTextBytesMax} bytes more`;
}

const backslashesOrUnseen = new RegExp(`\\\\+|${unseen.source}`, "gu");
const unseenOrNumber = new RegExp(`^(?:u[0-9a-f]{4}|u\\{[0-9a-f]|(?![\\n\\t])${unseen.source})`, "iu");
/** As far as one has to look to see whether a number follows. */
const numberLengthMax = 5;

/**
 * What nobody sees is written as its number. Where a text has a backslash that could be taken for the beginning of such a
 * number, it has two: no two texts look the same.
 */
export function visible(text: string): string {
  return text.toWellFormed().replaceAll(backslashesOrUnseen, (found: string, at: number, whole: string) => {
    if (found === "\n" || found === "\t") return found;
    if (!found.startsWith("\\")) return numberOf(found);
    const next = whole.slice(at + found.length, at + found.length + numberLengthMax);
    return unseenOrNumber.test(next) ? found + found : found;
  });
}

function numberOf(character: string): string {
  const number = (character.codePointAt(0) ?? 0).toString(16);
  return number.length > 4 ? `\\u{${number}}` : `\\u${number.padStart(4, "0")}`;
}
