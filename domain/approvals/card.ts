import type { JsonObject } from "@bufbuild/protobuf";
import { Identity } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { inHex } from "../shared/index.js";
import type { CallSubject, CardContext } from "./card-context.js";
import { changesOf, diffOf } from "./diff.js";
import { cut, oneLine, visible } from "./visible.js";
import { warningsAbout } from "./warnings.js";

const encoder = new TextEncoder();

/** What the owner is shown before they decide. Our code writes it; the model has no say in it. */
export interface Card {
  readonly summary: string;
  readonly target: string;
  readonly preview: JsonObject;
  readonly untrustedSources: readonly string[];
  readonly warnings: readonly string[];
}

/** The same call in the same circumstances makes the same card. */
export function renderCard(subject: CallSubject, context: CardContext): Card {
  const { previous, untrusted } = context;
  const preview = previewOf(subject, context);
  return {
    summary: oneLine(subject.summary),
    target: oneLine(subject.target),
    preview: previous === null ? preview : { ...preview, changed: changesOf(previous, preview) },
    untrustedSources: [...new Set(untrusted.map(({ tool, origin }) => oneLine(`${tool} ${origin}`)))],
    warnings: warningsAbout(subject, context),
  };
}

function previewOf(subject: CallSubject, { identity, hash }: CardContext): JsonObject {
  const { recipients, urls, body, before, details = {} } = subject;
  const whole = visible(body);
  const isCut = cut(whole) !== whole;
  return {
    summary: oneLine(subject.summary),
    target: oneLine(subject.target),
    account: accountOf(identity),
    recipients: recipients.map(oneLine),
    urls: urls.map(oneLine),
    ...(Object.keys(details).length === 0 ? {} : { details: mapped(details) }),
    body: cut(whole),
    body_bytes: encoder.encode(body).length,
    ...(isCut ? { body_hash: inHex(hash(body.toWellFormed())) } : {}),
    ...(before === undefined ? {} : { diff: cut(visible(diffOf(before, body))) }),
  };
}

function mapped(details: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(details).map(([name, text]) => [name, oneLine(text)]));
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
