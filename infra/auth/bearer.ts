import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { parse } from "uuid";

const idBytes = 16;
const secretBytes = 32;
const scheme = "bearer ";

/** What a client presents: the token's id, and a hash of the whole to compare. */
export interface Presented {
  readonly tokenId: string;
  readonly hash: Buffer;
}

/** Opaque to whoever holds it: the token's id, by which we find it, and 256 random bits, of which we keep a hash. */
export function issueToken(tokenId: string): { readonly bearer: string; readonly hash: Buffer } {
  const bytes = Buffer.concat([parse(tokenId), randomBytes(secretBytes)]);
  return { bearer: bytes.toString("base64url"), hash: hashOf(bytes) };
}

/** Reads an `Authorization` header; null if it cannot be one of ours. */
export function readBearer(authorization: string | null): Presented | null {
  if (authorization?.slice(0, scheme.length).toLowerCase() !== scheme) return null;
  const text = authorization.slice(scheme.length).trim();
  const bytes = Buffer.from(text, "base64url");
  // Decoding passes over what is no base64; encoding again tells.
  if (bytes.length !== idBytes + secretBytes || bytes.toString("base64url") !== text) return null;
  return { tokenId: formatId(bytes.subarray(0, idBytes)), hash: hashOf(bytes) };
}

/** Takes as long for a near miss as for a far one. */
export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function hashOf(bytes: Buffer): Buffer {
  return hash("sha256", bytes, "buffer");
}

/** By hand, because anybody may send any sixteen bytes, and the library takes only those that are a UUID. */
function formatId(bytes: Buffer): string {
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
