import {
  judge,
  proposalOf,
  settledArgs,
  supersede,
  type ActingTool,
  type ActionPlan,
  type ActionSource,
  type Hash,
  type JsonObject,
  type Toolbox,
} from "../../domain/approvals/index.js";
import { approvalNeeded } from "../../domain/notifications/index.js";
import {
  accept,
  argumentsDepthMax,
  argumentsLengthMax,
  inHex,
  refuse,
  tooLarge,
  whatIsOdd,
  type Instant,
  type NewFact,
  type Refusal,
} from "../../domain/shared/index.js";
import { PolicyDecision } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { handle, type Handled, type Load } from "../handle.js";
import { tellOwner } from "../notifications/tell-owner.js";
import type { Ids, Provenance } from "../ports/index.js";
import { about, isThreadOpen, loadAction, type Approving } from "./decide-action.js";

export interface Editing extends Approving {
  readonly ids: Ids;
  readonly toolbox: Toolbox;
  readonly hash: Hash;
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

/**
 * Another revision, with a card of its own, takes the place of an action that is not decided yet. With the same arguments it
 * is shown anew, under the policy that is in force.
 */
export async function editAction(editing: Editing, command: EditAction): Promise<Edited> {
  const { actionId, args, at, provenance } = command;
  const { ids, lookups, toolbox, hash, policyVersion, approvalMillis } = editing;
  const odd = whatIsOdd(args, argumentsDepthMax) ?? (isTooLarge(args) ? tooLarge : null);
  if (odd !== null) return invalid(`They ${odd}.`);
  const proposed = await lookups.action(actionId);
  if (proposed === null) return refuse("action_not_found");
  const { threadId, turnId } = proposed;
  const around = await lookups.surroundings(threadId);
  const derive = (...parts: readonly string[]) => ids.derive(...parts);
  // The same arguments again are the same revision, as long as the policy is the same.
  const revisedId = derive("action", actionId, inHex(hash(args)), policyVersion);
  const handled: Handled = await handle(editing, {
    at,
    decide: (load) => {
      if (!isThreadOpen(load, threadId)) return refuse("thread_deleted");
      const action = loadAction(load, actionId);
      const superseded = supersede(action, revisedId, at);
      if (action.status === "none") return refuse("action_not_found");
      if (action.status === "rejected" && isRevisedBy(load, revisedId)) return [];
      if (superseded.outcome === "refused") return superseded;
      const { plan } = action;
      const tool = toolbox.find(plan.tool);
      if (tool?.kind !== "acting") return invalid("There is no such tool any more.");
      const settled = settledFor(tool, args);
      if ("outcome" in settled) return settled;
      const wish = {
        actionId: revisedId,
        toolCallId: plan.toolCallId,
        source: plan.source,
        sourceId: plan.sourceId,
        justification: plan.justification,
        idempotencyKey: keyAfter(plan),
        tool,
        args: settled.args,
        identity: plan.identity,
        supersedes: { actionId, revision: plan.revision, preview: plan.preview },
      };
      const circumstances = { hash, policyVersion, expiresAt: at + approvalMillis, ...around };
      const notice = approvalNeeded(derive, { ...wish, expiresAt: circumstances.expiresAt });
      const asked = { tool, identity: plan.identity, source: sourceOf(plan.source), isTainted: false, proposals: 0 };
      const ruling = judge(asked);
      if (ruling.decision !== PolicyDecision.REQUIRE_APPROVAL) return invalid(ruling.reason);
      const proposal = proposalOf(wish, circumstances);
      if (proposal === null) return invalid("The tool cannot say what it would do with them.");
      const { toolCallId } = plan;
      const judged: NewFact = { case: "policyDecisionMade", value: { toolCallId, actionId: revisedId, ...ruling } };
      // It comes from the one before.
      const revised = about(revisedId, threadId, provenance, turnId);
      const where = { ...revised, provenance: { ...revised.provenance, causationId: actionId } };
      return [
        { ...about(actionId, threadId, provenance, turnId), decision: superseded },
        { ...where, decision: accept(judged, proposal) },
        tellOwner(load, notice, where),
      ];
    },
  });
  return handled.outcome === "refused" ? handled : { outcome: "done", actionId: revisedId };
}

function isTooLarge(args: JsonObject): boolean {
  return JSON.stringify(args).length > argumentsLengthMax;
}

/** The arguments as the tool takes them, which must be what it would take again when they are carried out. */
function settledFor(tool: ActingTool<unknown>, args: JsonObject): { readonly args: JsonObject } | Refusal {
  const settled = settledArgs(tool, args);
  return settled === null ? invalid(whyNot(tool, args)) : { args: settled };
}

function whyNot(tool: ActingTool<unknown>, args: JsonObject): string {
  try {
    const parsed = tool.args.safeParse(args);
    return parsed.success ? "The tool would make something else of them each time." : parsed.error.message;
  } catch {
    return "The tool cannot read them."; // What it is made of is its own.
  }
}

/** The first one's key, and the number of the revision. */
function keyAfter({ idempotencyKey, revision }: ActionPlan): string {
  const own = `/r${revision}`;
  const first = revision > 1 && idempotencyKey.endsWith(own) ? idempotencyKey.slice(0, -own.length) : idempotencyKey;
  return `${first}/r${revision + 1}`;
}

function invalid(why: string): Refusal {
  return refuse("action_arguments_invalid", { why });
}

/** Whatever is not a chat is background, and has no more rights than that. */
function sourceOf(source: string): ActionSource {
  return source === "chat" ? "chat" : "job";
}

function isRevisedBy(load: Load, revisedId: string): boolean {
  return loadAction(load, revisedId).status !== "none";
}
