import type { JsonObject } from "@bufbuild/protobuf";
import { Identity } from "../../proto/gen/pincer/protocol/v1/common_pb.js";

const shownTextBytesMax = 64 * 1024;
const encoder = new TextEncoder();

/** What a tool knows of a call: who and what is concerned. It renders nothing itself. */
export interface CallSubject {
  /** What would be done, in one line. */
  readonly summary: string;
  /** Whom or what it is done to. */
  readonly target: string;
  readonly recipients: readonly string[];
  readonly urls: readonly string[];
  /** All that would be sent or written; empty if there is nothing such. */
  readonly body: string;
  /** What is there now, if it would be changed. */
  readonly before?: string;
  /** Whatever else matters, by name. */
  readonly details?: Readonly<Record<string, string>>;
}

/** Something that the thread has read, and that others wrote. */
export interface UntrustedSource {
  readonly tool: string;
  readonly origin: string;
  readonly text: string;
}

/** What the owner is shown before they decide. Our code writes it; the model has no say in it. */
export interface Card {
  readonly summary: string;
  readonly target: string;
  readonly preview: JsonObject;
  readonly untrustedSources: readonly string[];
  readonly warnings: readonly string[];
}

/** What is around a call that a card tells of. */
export interface CardContext {
  readonly identity: Identity;
  readonly untrusted: readonly UntrustedSource[];
  /** What the owner has said in the thread. */
  readonly ownerWords: string;
  /** The card of the revision before, if this is another. */
  readonly previous: JsonObject | null;
}

/** The same call in the same circumstances makes the same card. */
export function renderCard(subject: CallSubject, context: CardContext): Card {
  const { recipients, urls, body, details = {} } = subject;
  const preview: JsonObject = {
    summary: oneLine(subject.summary),
    target: oneLine(subject.target),
    account: accountOf(context.identity),
    recipients: recipients.map(oneLine),
    urls: urls.map(oneLine),
    ...(Object.keys(details).length === 0 ? {} : { details: mapped(details) }),
    body: shown(body),
    body_bytes: encoder.encode(body).length,
    ...(subject.before === undefined ? {} : { diff: diffOf(subject.before, body) }),
    ...(context.previous === null ? {} : { changed: changesOf(context.previous, subject) }),
  };
  return {
    summary: oneLine(subject.summary),
    target: oneLine(subject.target),
    preview,
    untrustedSources: [...new Set(context.untrusted.map(({ tool, origin }) => oneLine(`${tool} ${origin}`)))],
    warnings: [...recipients, ...urls].flatMap((address) => warningsAbout(address, context)),
  };
}

function mapped(details: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(details).map(([name, text]) => [name, oneLine(text)]));
}

/** An address that the owner never named, and that others brought up. */
function warningsAbout(address: string, { untrusted, ownerWords }: CardContext): readonly string[] {
  if (address === "" || isNamed(address, ownerWords)) return [];
  const needle = address.toLowerCase();
  const source = untrusted.find(({ text }) => text.toLowerCase().includes(needle));
  return source === undefined ? [] : [oneLine(`${address} comes from ${source.tool} ${source.origin}, not from you`)];
}

/** As a whole: who named ada@example.com has not named ada@example.co. */
function isNamed(address: string, words: string): boolean {
  const [text, needle] = [words.toLowerCase(), address.toLowerCase()];
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + 1)) {
    const before = text.slice(0, at);
    const after = text.slice(at + needle.length);
    if (!/[\p{L}\p{N}@._+/-]$/u.test(before) && !/^(?:[\p{L}\p{N}@_+/-]|\.[\p{L}\p{N}])/u.test(after)) return true;
  }
  return false;
}

function accountOf(identity: Identity): string {
  switch (identity) {
    case Identity.USER:
      return "yours";
    case Identity.BOT:
      return "the assistant's own";
    case Identity.NONE:
    case Identity.UNSPECIFIED:
      return "none";
  }
}

/** Lines that go and lines that come. If only their order changes, that is all of them. */
function diffOf(before: string, after: string): string {
  if (before === after) return "";
  const gone = without(before.split("\n"), after.split("\n"));
  const come = without(after.split("\n"), before.split("\n"));
  const isOrder = gone.length === 0 && come.length === 0;
  const [minus, plus] = isOrder ? [before.split("\n"), after.split("\n")] : [gone, come];
  return shown([...minus.map((line) => `- ${line}`), ...plus.map((line) => `+ ${line}`)].join("\n"));
}

/** Those lines that the others do not have, or not as often. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

/** What the owner has changed, for the record. */
function changesOf(previous: JsonObject, { recipients, urls, body }: CallSubject): JsonObject {
  const before = typeof previous["body"] === "string" ? previous["body"] : "";
  return {
    body: diffOf(before, body),
    recipients_before: previous["recipients"] ?? [],
    urls_before: previous["urls"] ?? [],
    recipients: recipients.map(oneLine),
    urls: urls.map(oneLine),
  };
}

/** What nobody sees, or what makes others look like something else, is written as its number. */
const unseen = /[\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u2800\u3164\uFFA0\u115F\u1160]|\u034F/gu;

function visible(text: string): string {
  return text.toWellFormed().replaceAll(unseen, (character) => {
    if (character === "\n" || character === "\t") return character;
    const number = (character.codePointAt(0) ?? 0).toString(16);
    return number.length > 4 ? `\\u{${number}}` : `\\u${number.padStart(4, "0")}`;
  });
}

/** Nothing on a card can pretend to be another line of it. */
function oneLine(text: string): string {
  const line = visible(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Zs}]+/gu, " "));
  return line.trim();
}

/** Whole, but for what nobody would read; then it says so. */
function shown(text: string): string {
  const bytes = encoder.encode(visible(text));
  if (bytes.length <= shownTextBytesMax) return visible(text);
  const cut = new TextDecoder().decode(bytes.subarray(0, shownTextBytesMax));
  return `${cut}\n… and ${bytes.length - shownTextBytesMax} bytes more`;
}
