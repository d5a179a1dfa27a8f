import { refuse, type Refusal } from "./decision.js";

const encoder = new TextEncoder();

/** Refuses text that is empty, not Unicode, or longer in UTF-8 than `textBytesMax`. */
export function refuseText(text: string, textBytesMax: number): Refusal | null {
  if (text === "") return refuse("text_empty");
  if (!text.isWellFormed()) return refuse("text_malformed");
  const textBytes = encoder.encode(text).length;
  return textBytes > textBytesMax ? refuse("text_too_long", { textBytes, textBytesMax }) : null;
}
