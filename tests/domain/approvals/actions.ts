import { evolveAction, initialAction } from "../../../domain/approvals/index.js";
import type { NewFact } from "../../../domain/shared/index.js";
import { ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import * as facts from "../../support/action-facts.js";
import { given } from "../../support/given.js";

const proposed = facts.proposed("a");
const begun = [proposed, facts.approved, facts.intended()];

/** Every stage that an action can be at, and what has led to it. */
export const stages = {
  "not there": [],
  pending: [proposed],
  approved: [proposed, facts.approved],
  begun,
  "to be tried again": [...begun, facts.failedForNow],
  unclear: [...begun, facts.finished(ExecutionOutcome.UNKNOWN)],
  failed: [...begun, facts.finished(ExecutionOutcome.FAILED, { reason: "refused" })],
  executed: [...begun, facts.done, facts.executed],
  rejected: [proposed, facts.rejected("no")],
  expired: [proposed, facts.rejected("expired")],
  cancelled: [proposed, facts.approved, facts.rejected("cancelled")],
  superseded: [proposed, facts.rejected("superseded", "b")],
} as const satisfies Readonly<Record<string, readonly NewFact[]>>;

export type Stage = keyof typeof stages;

export function action(...happened: readonly NewFact[]) {
  return given({ initial: initialAction, evolve: evolveAction }, ...happened);
}

export function actionThatIs(stage: Stage) {
  return action(...stages[stage]);
}
