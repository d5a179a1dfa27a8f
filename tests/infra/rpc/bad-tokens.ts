import { randomFrom } from "../../support/random.js";

const tokenBytes = 48;

export type CallHeaders = Readonly<Record<string, string>>;

/** Headers that nobody may be let in with, by what is wrong with them. `good` is a token that is good. */
export function garbageTokens(good: string): ReadonlyMap<string, CallHeaders> {
  const bytes = Buffer.from(good, "base64url");
  const flipped = Buffer.from(bytes);
  flipped[tokenBytes - 1]! ^= 1;
  return new Map<string, CallHeaders>([
    ["none", {}],
    ["an empty header", { authorization: "" }],
    ["a scheme alone", { authorization: "Bearer" }],
    ["a scheme and a space", { authorization: "Bearer " }],
    ["another scheme", { authorization: `Basic ${good}` }],
    ["no scheme", { authorization: good }],
    ["a scheme without a space", { authorization: `Bearer${good}` }],
    ["two schemes", { authorization: `Bearer Bearer ${good}` }],
    ["another header", { "x-authorization": `Bearer ${good}`, token: good }],
    ["a cookie", { cookie: `authorization=Bearer ${good}` }],
    ["one character too few", bearer(good.slice(0, -1))],
    ["one character too many", bearer(`${good}A`)],
    ["padding", bearer(`${good}==`)],
    ["a space inside", bearer(`${good.slice(0, 20)} ${good.slice(20)}`)],
    ["something behind", bearer(`${good}, Bearer ${good}`)],
    ["a bit flipped", bearer(flipped.toString("base64url"))],
    ["its hexadecimal form", bearer(bytes.toString("hex"))],
    ["its id alone", bearer(bytes.subarray(0, 16).toString("base64url"))],
    ["its id, and zeros", bearer(Buffer.concat([bytes.subarray(0, 16), Buffer.alloc(32)]).toString("base64url"))],
    ["in upper case", bearer(good.toUpperCase())],
    ["a JSON web token", bearer("eyJhbGciOiJub25lIn0.eyJzdWIiOiJvd25lciJ9.")],
    ["SQL", bearer("' OR 1=1 --")],
    ["percent signs", bearer("%00%ff%2e%2e%2f")],
    ["10 KB of it", bearer(good.repeat(160))],
    ["one that nobody issued", bearer(unissuedToken(1))],
  ]);
}

/** Formed as ours are, and of none of ours. */
export function unissuedToken(seed: number): string {
  const random = randomFrom(seed);
  return Buffer.from(Array.from({ length: tokenBytes }, () => random.below(256))).toString("base64url");
}

export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}
