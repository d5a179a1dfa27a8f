import { gzipSync } from "node:zlib";
import type { OutgoingHttpHeaders } from "node:http2";
import { requestBytesMax } from "../../../infra/rpc/api.js";
import { hostileValues } from "./hostile-values.js";
import { frame } from "../../support/frame.js";
import { packagePath } from "./raw.js";

/** Something that no honest client sends, and how the server may answer it. */
export interface HostileRequest {
  readonly what: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array | string;
  /** Any of these, as Connect's codes; "reset" if the stream is cut off instead. */
  readonly answers: readonly string[];
}

const method = (name: string) => ({ ":path": `${packagePath}.${name}` });
const json = { ...method("ThreadsService/GetThreadSnapshot"), "content-type": "application/json" };
const proto = { ...method("ThreadsService/GetThreadSnapshot"), "content-type": "application/proto" };
const grpc = { ...method("ThreadsService/GetThreadSnapshot"), "content-type": "application/grpc+proto" };
const grpcWeb = { ...grpc, "content-type": "application/grpc-web+proto" };
const watch = { ...method("EventsService/WatchThread"), "content-type": "application/connect+proto" };
const watchJson = { ...watch, "content-type": "application/connect+json" };
const gzip = { "content-encoding": "gzip" };

/** What a bad message is: the library calls it ours when it is in protobuf, and the client's when it is in JSON. */
const malformed = ["invalid_argument", "internal"];
const tooLarge = ["resource_exhausted"];
/** Under jest zlib's errors are of another realm, and the library does not know them. */
const bombed = ["resource_exhausted", "internal"];

/** Field 1, a string, of these bytes. */
const textField = (bytes: Uint8Array) => Buffer.concat([Buffer.from([0x0a, bytes.length]), bytes]);
const badUtf8 = textField(Buffer.from([0x66, 0xff, 0xfe, 0xc0, 0xaf]));
const bomb = gzipSync(Buffer.alloc(64 * requestBytesMax));
const deepJson = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

const unaries: readonly HostileRequest[] = [
  { what: "no JSON", headers: json, body: "{", answers: malformed },
  { what: "another JSON", headers: json, body: "[1,2,3]", answers: malformed },
  { what: "a number for a text", headers: json, body: '{"threadId":7}', answers: malformed },
  { what: "bytes for JSON", headers: json, body: Buffer.alloc(1_000, 0xff), answers: malformed },
  { what: "half of a surrogate pair", headers: json, body: '{"threadId":"\\ud800"}', answers: malformed },
  { what: "a prototype", headers: json, body: '{"__proto__":{"threadId":"x"}}', answers: ["not_found", ...malformed] },
  { what: "deep JSON", headers: json, body: deepJson(80_000), answers: ["not_found", ...malformed] },
  { what: "no protobuf", headers: proto, body: Buffer.alloc(100, 0xff), answers: malformed },
  { what: "a field cut off", headers: proto, body: Buffer.from([0x0a, 0x64, 0x41]), answers: malformed },
  { what: "a length beyond the end", headers: proto, body: Buffer.from("0affffffff0f41", "hex"), answers: malformed },
  { what: "invalid UTF-8", headers: proto, body: badUtf8, answers: malformed },
  { what: "deep groups", headers: proto, body: Buffer.alloc(900_000, 0x7b), answers: malformed },
  { what: "unknown fields", headers: proto, body: Buffer.alloc(300_000, "f80101", "hex"), answers: ["not_found"] },
  { what: "too much JSON", headers: json, body: `"${"x".repeat(requestBytesMax)}"`, answers: tooLarge },
  { what: "too much protobuf", headers: proto, body: Buffer.alloc(requestBytesMax + 1), answers: tooLarge },
  { what: "a gzip bomb", headers: { ...proto, ...gzip }, body: bomb, answers: bombed },
  { what: "no gzip", headers: { ...proto, ...gzip }, body: "no gzip", answers: malformed },
  {
    what: "gzip cut off",
    headers: { ...proto, ...gzip },
    body: bomb.subarray(0, 1_000),
    answers: [...malformed, ...tooLarge],
  },
  { what: "another coding", headers: { ...proto, "content-encoding": "br" }, body: "x", answers: ["unimplemented"] },
  { what: "a negative timeout", headers: { ...json, "connect-timeout-ms": "-1" }, body: "{}", answers: malformed },
  {
    what: "an endless timeout",
    headers: { ...json, "connect-timeout-ms": "9999999999" },
    body: "{}",
    answers: ["not_found"],
  },
  {
    what: "no time at all",
    headers: { ...json, "connect-timeout-ms": "0" },
    body: "{}",
    answers: ["deadline_exceeded", "not_found"],
  },
  {
    what: "headers of 20 KB",
    headers: { ...json, "x-big": "x".repeat(20_000) },
    body: "{}",
    answers: ["reset", "HTTP 431"],
  },
];

const framed: readonly HostileRequest[] = [grpc, grpcWeb, watch].flatMap((headers) => {
  const compressed = headers === watch ? { "connect-content-encoding": "gzip" } : { "grpc-encoding": "gzip" };
  const kind = headers["content-type"].slice("application/".length);
  const inKind = (what: string, body: Uint8Array, answers: readonly string[], more = {}) => ({
    what: `${kind}: ${what}`,
    headers: { ...headers, ...more },
    body,
    answers,
  });
  return [
    inKind("no frame", Buffer.alloc(0), [...malformed, "unimplemented"]),
    inKind("half of a frame's head", Buffer.alloc(3), malformed),
    inKind("a frame cut off", frame("abc", 0, 100), malformed),
    inKind("a frame too short", frame("abcdef", 0, 2), [...malformed, "unimplemented"]),
    inKind("a frame of 4 GiB", frame("abc", 0, 2 ** 32 - 1), [...tooLarge, ...malformed]),
    inKind("a frame too large", frame(Buffer.alloc(requestBytesMax + 1)), tooLarge),
    inKind("two messages", Buffer.concat([frame(""), frame("")]), ["unimplemented", ...malformed]),
    inKind("compressed without saying how", frame("abc", 1), malformed),
    inKind("a bomb", frame(bomb, 1), bombed, compressed),
    inKind("flags that nobody knows", frame("", 0xfc), [...malformed, "not_found", "unimplemented"]),
    inKind("an end of stream", frame("{}", 2), [...malformed, "not_found", "unimplemented"]),
    inKind("invalid UTF-8", frame(badUtf8), malformed),
    inKind("an endless timeout", frame(""), ["not_found"], {
      "grpc-timeout": "99999999H",
      "connect-timeout-ms": "9999999999",
    }),
    inKind("an unknown coding", frame("abc", 1), ["unimplemented"], {
      "grpc-encoding": "br",
      "connect-content-encoding": "br",
    }),
  ];
});

const sequences: readonly HostileRequest[] = [
  ["a negative sequence", "-1"],
  ["a sequence beyond uint64", "18446744073709551616"],
  ["a sequence beyond 2^53", "9007199254740992"],
  ["the largest sequence", "18446744073709551615"],
  ["a sequence that is none", '"x"'],
  ["a broken sequence", "1.5"],
].map(([what, value]) => ({
  what: what!,
  headers: { ...watchJson, ":path": `${packagePath}.EventsService/WatchLog` },
  body: frame(`{"fromPosition":${value}}`),
  answers: ["invalid_argument"],
}));

/** All of them are sent with a good token: none is refused for being a stranger's. */
export const hostileRequests: readonly HostileRequest[] = [...unaries, ...framed, ...sequences, ...hostileValues];
