import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Identity } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { toTimestamp, type Instant, type NewFact } from "../shared/index.js";
import { renderCard, type UntrustedSource } from "./card.js";
import type { ActingTool } from "./tool.js";

/** A digest of a value as canonical JSON (RFC 8785): the same value, the same bytes. */
export type Hash = (value: JsonValue) => Uint8Array;

/** What a proposal is made in. */
export interface Circumstances {
  readonly hash: Hash;
  readonly policyVersion: string;
  readonly expiresAt: Instant;
  /** What the thread has read that others wrote. */
  readonly untrusted: readonly UntrustedSource[];
  readonly ownerWords: string;
}

/** A call that wants to become an action. */
export interface Wish {
  readonly actionId: string;
  readonly toolCallId: string;
  readonly idempotencyKey: string;
  readonly tool: ActingTool<unknown>;
  /** As the tool's schema has made them. */
  readonly args: JsonObject;
  readonly identity: Identity;
  readonly justification: string;
  readonly source: string;
  readonly sourceId: string;
  /** The revision that this one takes the place of, and its card. */
  readonly supersedes: { readonly actionId: string; readonly revision: number; readonly preview: JsonObject } | null;
}

/** What an approval binds. Whatever is executed must have the same. */
export function bindingOf(
  hash: Hash,
  bound: {
    readonly tool: string;
    readonly toolVersion: number;
    readonly args: JsonObject;
    readonly identity: Identity;
    readonly policyVersion: string;
  },
): Uint8Array {
  const { tool, toolVersion, args, identity, policyVersion } = bound;
  return hash({ tool, version: toolVersion, args, identity, policy: policyVersion });
}

/** The proposal, with the card that the owner decides by. */
export function propose(wish: Wish, circumstances: Circumstances): NewFact {
  const { tool, args, identity, supersedes } = wish;
  const { hash, policyVersion, expiresAt, untrusted, ownerWords } = circumstances;
  const previous = supersedes?.preview ?? null;
  const card = renderCard(tool.describe(args), { identity, untrusted, ownerWords, previous });
  const argsHash = bindingOf(hash, { tool: tool.name, toolVersion: tool.version, args, identity, policyVersion });
  const cardHash = hash({
    action: wish.actionId,
    binds: Array.from(argsHash),
    summary: card.summary,
    target: card.target,
    preview: card.preview,
    sources: [...card.untrustedSources],
    warnings: [...card.warnings],
  });
  return {
    case: "proposedActionCreated",
    value: {
      actionId: wish.actionId,
      tool: tool.name,
      toolVersion: tool.version,
      riskClass: tool.risk,
      identity,
      idempotencyKey: wish.idempotencyKey,
      justification: wish.justification,
      deterministicSummary: card.summary,
      targetEntity: card.target,
      preview: card.preview,
      expiresAt: toTimestamp(expiresAt),
      args,
      argsHash,
      policyVersion,
      toolCallId: wish.toolCallId,
      source: wish.source,
      sourceId: wish.sourceId,
      cardHash,
      revision: (supersedes?.revision ?? 0) + 1,
      supersedesActionId: supersedes?.actionId ?? "",
      undoSeconds: tool.undoSeconds,
      untrustedSources: [...card.untrustedSources],
      warnings: [...card.warnings],
    },
  };
}
