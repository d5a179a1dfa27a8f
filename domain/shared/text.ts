import { refuse, type Refusal } from "./decision.js";

const encoder = new TextEncoder();

/** Refuses text that says nothing, is not Unicode, or longer in UTF-8 than `textBytesMax`. */
export function refuseText(text: string, textBytesMax: number): Refusal | null {
  return text.trim() === "" ? refuse("text_empty") : refuseTextIfAny(text, textBytesMax);
}

/** The same where saying nothing means something. */
export function refuseTextIfAny(text: string, textBytesMax: number): Refusal | null {
  if (!text.isWellFormed()) return refuse("text_malformed");
  const textBytes = encoder.encode(text).length;
  return textBytes > textBytesMax ? refuse("text_too_long", { textBytes, textBytesMax }) : null;
}
