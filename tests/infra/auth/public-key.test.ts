import { describe, expect, test } from "@jest/globals";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { isPublicKey } from "../../../infra/auth/public-key.js";

const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed25519 = generateKeyPairSync("ed25519");
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const x25519 = generateKeyPairSync("x25519");

const pem = (key: KeyObject) => key.export({ type: "spki", format: "pem" }).toString();
const der = (key: KeyObject) => key.export({ type: "spki", format: "der" });
const last = (key: KeyObject, bytes: number) => der(key).subarray(-bytes);
const privatePem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString();

const good: readonly (readonly [string, string])[] = [
  ["P-256 as PEM", pem(p256.publicKey)],
  ["Ed25519 as PEM", pem(ed25519.publicKey)],
  ["P-256 as DER", der(p256.publicKey).toString("base64")],
  ["Ed25519 as DER", der(ed25519.publicKey).toString("base64")],
  ["P-256 as DER, for URLs", der(p256.publicKey).toString("base64url")],
  ["P-256, the bare point", last(p256.publicKey, 65).toString("base64")],
  ["P-256, the bare coordinates", last(p256.publicKey, 64).toString("base64")],
  ["Ed25519, bare", last(ed25519.publicKey, 32).toString("base64")],
];

const offCurve = Buffer.from(last(p256.publicKey, 64));
offCurve[63]! ^= 1;

const bad: readonly (readonly [string, string])[] = [
  ["RSA as PEM", pem(rsa.publicKey)],
  ["RSA as DER", der(rsa.publicKey).toString("base64")],
  ["P-384 as PEM", pem(p384.publicKey)],
  ["P-384, bare", last(p384.publicKey, 97).toString("base64")],
  ["X25519, which signs nothing", pem(x25519.publicKey)],
  ["a private key as PEM", privatePem(p256.privateKey)],
  ["a private Ed25519 key as PEM", privatePem(ed25519.privateKey)],
  ["a private key as DER", ed25519.privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")],
  ["a point that is not on the curve", offCurve.toString("base64")],
  ["a PEM cut off", pem(p256.publicKey).slice(0, 80)],
  ["a DER cut off", der(p256.publicKey).subarray(0, 50).toString("base64")],
  ["words of a bare key's length", "these are words and they are no key of 32 bytes"],
  ["noise around base64", `!${last(ed25519.publicKey, 32).toString("base64")}!`],
  ["31 bytes", Buffer.alloc(31, 7).toString("base64")],
  ["far too much", "A".repeat(100_000)],
  ["nothing", ""],
  ["a NUL", "\0"],
];

describe("a public key", () => {
  test.each(good)("is taken: %s", (_name, text) => {
    expect(isPublicKey(text)).toBe(true);
  });

  test.each(bad)("is refused: %s", (_name, text) => {
    expect(isPublicKey(text)).toBe(false);
  });
});
