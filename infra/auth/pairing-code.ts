import { hash, randomInt } from "node:crypto";

/** Crockford's base 32: no I, L, O or U, so that a code survives being read aloud. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const isOfAlphabet = new RegExp(`^[${alphabet}]+$`);
const codeLength = 8;

export function makePairingCode(): string {
  return Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join("");
}

/** What somebody typed, as we would have written it; null if it cannot be a code. */
export function readPairingCode(typed: string): string | null {
  if (typed.length > codeLength * 4) return null;
  const code = typed.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
  return code.length === codeLength && isOfAlphabet.test(code) ? code : null;
}

/** Two groups of four are easier on the eye. */
export function showPairingCode(code: string): string {
  return `${code.slice(0, codeLength / 2)}-${code.slice(codeLength / 2)}`;
}

/** With the id of the pairing, so that two codes of the same letters do not look the same. */
export function hashPairingCode(pairingId: string, code: string): Buffer {
  return hash("sha256", `${pairingId}:${code}`, "buffer");
}
