import {
  judge,
  propose,
  supersede,
  type ActionSource,
  type Hash,
  type JsonObject,
  type Toolbox,
} from "../../domain/approvals/index.js";
import { approvalNeeded } from "../../domain/notifications/index.js";
import { accept, refuse, type Instant, type NewFact, type Refusal } from "../../domain/shared/index.js";
import { PolicyDecision } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { handle, type Handled } from "../handle.js";
import { notificationStream } from "../notifications/streams.js";
import type { Ids, Provenance } from "../ports/index.js";
import { about, loadAction, type Deciding } from "./decide-action.js";

export interface Editing extends Deciding {
  readonly ids: Ids;
  readonly toolbox: Toolbox;
  readonly hash: Hash;
  readonly policyVersion: string;
  /** How long the owner has to decide. */
  readonly approvalMillis: number;
}

export interface EditAction {
  readonly actionId: string;
  readonly args: JsonObject;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export type Edited = { readonly outcome: "done"; readonly actionId: string } | Refusal;

/** Another revision, with other arguments and a card of its own, takes the place of an action that is not decided yet. */
export async function editAction(editing: Editing, command: EditAction): Promise<Edited> {
  const { actionId, args, at, provenance } = command;
  const { ids, lookups, toolbox, hash, policyVersion, approvalMillis } = editing;
  const proposed = await lookups.action(actionId);
  if (proposed === null) return refuse("action_not_found");
  const { threadId, turnId } = proposed;
  const around = await lookups.surroundings(threadId);
  const derive = (...parts: readonly string[]) => ids.derive(...parts);
  // The same arguments again are the same revision.
  const revisedId = derive("action", actionId, inHex(hash(args)));
  const handled: Handled = await handle(editing, {
    at,
    decide: (load) => {
      const action = loadAction(load, actionId);
      const superseded = supersede(action, revisedId, at);
      if (action.status === "none") return refuse("action_not_found");
      if (action.status === "rejected" && isRevisedBy(load, revisedId)) return [];
      if (superseded.outcome === "refused") return superseded;
      const { plan } = action;
      const tool = toolbox.find(plan.tool);
      if (tool?.kind !== "acting")
        return refuse("action_arguments_invalid", { why: "There is no such tool any more." });
      const parsed = tool.args.safeParse(args);
      if (!parsed.success) return refuse("action_arguments_invalid", { why: parsed.error.message });
      const wish = {
        actionId: revisedId,
        toolCallId: plan.toolCallId,
        source: plan.source,
        sourceId: plan.sourceId,
        justification: plan.justification,
        idempotencyKey: `${plan.idempotencyKey}/r${plan.revision + 1}`,
        tool,
        args: parsed.data as JsonObject,
        identity: plan.identity,
        supersedes: { actionId, revision: plan.revision, preview: plan.preview },
      };
      const circumstances = { hash, policyVersion, expiresAt: at + approvalMillis, ...around };
      const notice = approvalNeeded(derive, revisedId);
      const asked = { tool, identity: plan.identity, source: sourceOf(plan.source), isTainted: false, proposals: 0 };
      const ruling = judge(asked);
      if (ruling.decision !== PolicyDecision.REQUIRE_APPROVAL) {
        return refuse("action_arguments_invalid", { why: ruling.reason });
      }
      const { toolCallId } = plan;
      const judged: NewFact = { case: "policyDecisionMade", value: { toolCallId, actionId: revisedId, ...ruling } };
      // It comes from the one before.
      const revised = about(revisedId, threadId, provenance, turnId);
      const where = { ...revised, provenance: { ...revised.provenance, causationId: actionId } };
      return [
        { ...about(actionId, threadId, provenance, turnId), decision: superseded },
        { ...where, decision: accept(judged, propose(wish, circumstances)) },
        { ...where, stream: notificationStream(notice.value.notificationId), decision: accept(notice) },
      ];
    },
  });
  return handled.outcome === "refused" ? handled : { outcome: "done", actionId: revisedId };
}

/** Whatever is not a chat is background, and has no more rights than that. */
function sourceOf(source: string): ActionSource {
  return source === "chat" ? "chat" : "job";
}

function inHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function isRevisedBy(load: Parameters<typeof loadAction>[0], revisedId: string): boolean {
  return loadAction(load, revisedId).status !== "none";
}
