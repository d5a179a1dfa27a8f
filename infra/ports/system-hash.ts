import canonicalize from "canonicalize";
import { createHash } from "node:crypto";
import type { Hash } from "../../domain/approvals/index.js";

/** sha256 of canonical JSON. */
export const systemHash: Hash = (value) => {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("this cannot be written as JSON");
  return createHash("sha256").update(text).digest();
};
