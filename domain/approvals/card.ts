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
    ...Object.fromEntries(Object.entries(details).map(([name, text]) => [name, oneLine(text)])),
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

/** An address that the owner never named, and that others brought up. */
function warningsAbout(address: string, { untrusted, ownerWords }: CardContext): readonly string[] {
  const needle = address.toLowerCase();
  if (needle === "" || ownerWords.toLowerCase().includes(needle)) return [];
  const source = untrusted.find(({ text }) => text.toLowerCase().includes(needle));
  return source === undefined ? [] : [oneLine(`${address} comes from ${source.tool} ${source.origin}, not from you`)];
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

/** Lines that go and lines that come; those that stay in between are left out. */
function diffOf(before: string, after: string): string {
  const old = new Set(before.split("\n"));
  const fresh = new Set(after.split("\n"));
  const gone = before.split("\n").filter((line) => !fresh.has(line));
  const come = after.split("\n").filter((line) => !old.has(line));
  return shown([...gone.map((line) => `- ${line}`), ...come.map((line) => `+ ${line}`)].join("\n"));
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

/** Nothing on a card can pretend to be another line of it, or hide what it says. */
function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
}

/** Whole, but for what nobody would read; then it says so. Characters that turn text around are shown as what they are. */
function shown(text: string): string {
  const visible = text
    .toWellFormed()
    .replaceAll(/[\u202A-\u202E\u2066-\u2069\u200B-\u200F\u2060\uFEFF]/gu, (character) => {
      return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    });
  const bytes = encoder.encode(visible);
  if (bytes.length <= shownTextBytesMax) return visible;
  const cut = new TextDecoder().decode(bytes.subarray(0, shownTextBytesMax));
  return `${cut}\n… and ${bytes.length - shownTextBytesMax} bytes more`;
}
