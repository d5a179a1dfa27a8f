import { limitsOf, settle, type ActingTool, type Effect, type SettledBy } from "../../domain/approvals/index.js";
import { withinTokens } from "../../domain/budgets/index.js";
import { notificationQueued, type Notice } from "../../domain/notifications/index.js";
import { ContentTrust } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { handle, type Handled, type Load, type Proposal } from "../handle.js";
import { tellOwner } from "../notifications/tell-owner.js";
import type { ActionPlace } from "../ports/index.js";
import { about, loadAction } from "./decide-action.js";
import { executor, type ExecutorPorts } from "./executor-ports.js";

const unrecordableReason = "What the tool said of it cannot be recorded.";

/** What became of an execution, and who found out. */
export interface Settling {
  readonly actionId: string;
  readonly place: ActionPlace;
  readonly tool: ActingTool<unknown>;
  readonly effect: Effect;
  readonly by: SettledBy;
}

/** Records what became of it. If that cannot be written down, nobody knows it, and the owner is told so. */
export async function settleExecution(ports: ExecutorPorts, settling: Settling): Promise<Handled> {
  const { actionId, place, tool, effect, by } = settling;
  const { attemptsMax } = limitsOf(tool);
  const record = (toldOf: () => Effect) =>
    handle(ports, {
      at: ports.clock.now(),
      decide: (load) => settled(ports, load, { actionId, place, effect: toldOf(), by }, attemptsMax),
    });
  try {
    return await record(() => told(effect, tool));
  } catch (error) {
    if (ports.isDiskTrouble(error)) throw error;
    ports.onTrouble(error, "recording what became of an action");
    return record(() => ({ outcome: "unknown", reason: unrecordableReason }));
  }
}

/** What the thread is told: no more than it should, and as untrusted as the tool says that it is. */
function told(effect: Effect, tool: ActingTool<unknown>): Effect {
  const { isResultUntrusted } = tool;
  switch (effect.outcome) {
    case "done": {
      const { result } = effect;
      const text = withinTokens(result.text.toWellFormed(), limitsOf(tool).resultTokensMax);
      const isTruncated = result.isTruncated || text.length < result.text.length;
      const isUntrusted = result.isUntrusted || isResultUntrusted;
      return { ...effect, result: { ...result, text, isTruncated, isUntrusted } };
    }
    case "not_done":
      return { ...effect, isUntrusted: effect.isUntrusted === true || isResultUntrusted };
    case "unknown":
      return effect;
  }
}

/** The outcome; and if nobody knows it, the owner is asked in the same breath. */
export function settled(
  ports: ExecutorPorts,
  load: Load,
  { actionId, place, effect, by }: Omit<Settling, "tool">,
  attemptsMax?: number,
): readonly Proposal[] {
  const at = ports.clock.now();
  const { threadId, turnId } = place;
  const decision = settle(loadAction(load, actionId), effect, by, at, attemptsMax);
  const contentTrust = isUntrusted(effect) ? ContentTrust.UNTRUSTED_MODEL : executor.contentTrust;
  const outcome = { ...about(actionId, threadId, { ...executor, contentTrust }, turnId), decision };
  const isNews = decision.outcome === "accepted" && decision.facts.length > 0;
  if (effect.outcome !== "unknown" || !isNews) return [outcome];
  const unclear = {
    type: "proactive_reach_out",
    reason: "operator_attention_needed",
    resourceKind: "action",
    resourceId: actionId,
  } as const;
  const notice = notificationQueued((...parts) => ports.ids.derive(...parts), unclear, at);
  return [outcome, noticeOf(load, notice, actionId, threadId, turnId)];
}

function isUntrusted(effect: Effect): boolean {
  if (effect.outcome === "done") return effect.result.isUntrusted;
  return effect.outcome === "not_done" && effect.isUntrusted === true;
}

export function noticeOf(
  load: Load,
  notice: Notice,
  actionId: string,
  threadId: string | null,
  turnId: string | null,
): Proposal {
  const where = about(actionId, threadId, { ...executor, contentTrust: ContentTrust.TRUSTED_SYSTEM }, turnId);
  return tellOwner(load, notice, where);
}
