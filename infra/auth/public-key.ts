import { createPublicKey, type KeyObject } from "node:crypto";

const keyTextMax = 1_000;
/** What stands before the bare key in its DER form. */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");
const p256Prefix = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");
const uncompressed = Buffer.from([4]);

const pemHead = "-----BEGIN PUBLIC KEY-----";

/** Whether a text is a public key of a kind we can check signatures of: PEM, DER, or as Apple's CryptoKit exports them. */
export function isPublicKey(text: string): boolean {
  if (text.length > keyTextMax) return false;
  // OpenSSL would also take a private key, whose public half it knows; but what we are given we keep for good.
  const key = text.startsWith(pemHead) ? parsed(text) : parsed(derOf(bytesOf(text)));
  if (key === null) return false;
  return (
    key.asymmetricKeyType === "ed25519" ||
    (key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === "prime256v1")
  );
}

/** Decoding passes over what is no base64; encoding again tells. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  const isBase64 = bytes.toString("base64") === text || bytes.toString("base64url") === text;
  return isBase64 ? bytes : Buffer.alloc(0);
}

/** A bare key is known by its length: 32 bytes Ed25519, 64 or 65 bytes P-256. */
function derOf(bytes: Buffer): Buffer {
  switch (bytes.length) {
    case 32:
      return Buffer.concat([ed25519Prefix, bytes]);
    case 64:
      return Buffer.concat([p256Prefix, uncompressed, bytes]);
    case 65:
      return Buffer.concat([p256Prefix, bytes]);
    default:
      return bytes;
  }
}

function parsed(key: string | Buffer): KeyObject | null {
  try {
    return typeof key === "string" ? createPublicKey(key) : createPublicKey({ key, format: "der", type: "spki" });
  } catch {
    return null; // Whatever OpenSSL has to say about it: it is no key.
  }
}
