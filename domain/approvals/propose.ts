import type { JsonObject } from "@bufbuild/protobuf";
import type { Identity } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { toTimestamp, type Instant, type NewFact } from "../shared/index.js";
import type { CardContext } from "./card-context.js";
import { renderCard } from "./card.js";
import type { ActingTool } from "./tool.js";

/** What a proposal is made in. */
export interface Circumstances extends Pick<CardContext, "hash" | "untrusted" | "ownerWords" | "isCutOff"> {
  readonly policyVersion: string;
  readonly expiresAt: Instant;
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
  hash: CardContext["hash"],
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
  const { hash, policyVersion, expiresAt } = circumstances;
  const previous = supersedes?.preview ?? null;
  const card = renderCard(tool.describe(args), { ...circumstances, identity, previous });
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

/** null if the tool breaks over it: what cannot be shown cannot be approved. */
export function proposalOf(wish: Wish, circumstances: Circumstances): NewFact | null {
  try {
    return propose(wish, circumstances);
  } catch {
    return null;
  }
}
