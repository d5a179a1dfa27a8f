import { createClient } from "@connectrpc/connect";
import { ApprovalsService, type Approval } from "../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { ActionStatus, ExecutionOutcome, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { CliContext } from "./context.js";
import { toTime } from "./devices.js";
import { exitCodes, UsageError } from "./exit.js";
import { soon, withServer } from "./socket.js";

const statuses: Readonly<Record<string, ActionStatus>> = {
  pending: ActionStatus.PENDING,
  approved: ActionStatus.APPROVED,
  rejected: ActionStatus.REJECTED,
  executed: ActionStatus.EXECUTED,
};

/** Prints actions with a status: pending ones as the owner should look at them, the others latest first. */
export async function approvalsList(context: CliContext, status: string): Promise<number> {
  const wanted = statuses[status];
  if (wanted === undefined) throw new UsageError(`the status is one of ${Object.keys(statuses).join(", ")}`);
  return withServer(context, async (transport) => {
    const approvals = createClient(ApprovalsService, transport);
    let pageToken = "";
    do {
      const { items, nextPageToken } = await approvals.listApprovals({ status: wanted, pageToken }, soon(context));
      for (const approval of items) context.output.print(toView(approval), toLine);
      pageToken = nextPageToken;
    } while (pageToken !== "");
    return exitCodes.fine;
  });
}

/** Prints all that the owner is shown before they decide. */
export async function approvalsShow(context: CliContext, actionId: string): Promise<number> {
  return withServer(context, async (transport) => {
    const { approval } = await createClient(ApprovalsService, transport).getApproval({ actionId }, soon(context));
    if (approval !== undefined) context.output.print({ ...toView(approval), ...cardOf(approval) }, toCard);
    return exitCodes.fine;
  });
}

/** Approves exactly what is there now: it is shown, and its hash goes with the approval. */
export async function approvalsApprove(context: CliContext, actionId: string): Promise<number> {
  return withServer(context, async (transport) => {
    const approvals = createClient(ApprovalsService, transport);
    const { approval } = await approvals.getApproval({ actionId }, soon(context));
    if (approval !== undefined) context.output.print({ ...toView(approval), ...cardOf(approval) }, toCard);
    const seen = { actionId, cardHash: approval?.cardHash ?? new Uint8Array() };
    const { status } = await approvals.approveAction(seen, soon(context));
    context.output.print({ action_id: actionId, status: ActionStatus[status] }, decided);
    return exitCodes.fine;
  });
}

export async function approvalsReject(context: CliContext, actionId: string, reason: string): Promise<number> {
  return withServer(context, async (transport) => {
    const approvals = createClient(ApprovalsService, transport);
    const { status } = await approvals.rejectAction({ actionId, reason }, soon(context));
    context.output.print({ action_id: actionId, status: ActionStatus[status] }, decided);
    return exitCodes.fine;
  });
}

/** Takes an approval back, as long as nothing was begun. */
export async function approvalsCancel(context: CliContext, actionId: string): Promise<number> {
  return withServer(context, async (transport) => {
    const { status } = await createClient(ApprovalsService, transport).cancelAction({ actionId }, soon(context));
    context.output.print({ action_id: actionId, status: ActionStatus[status] }, decided);
    return exitCodes.fine;
  });
}

export interface Resolution {
  readonly done?: boolean;
  readonly notDone?: boolean;
}

/** Says what became of an action of which nobody else knows. */
export async function approvalsResolve(
  context: CliContext,
  actionId: string,
  { done = false, notDone = false }: Resolution,
): Promise<number> {
  if (done === notDone) throw new UsageError("say what became of it: --done or --not-done");
  return withServer(context, async (transport) => {
    const approvals = createClient(ApprovalsService, transport);
    const { status } = await approvals.resolveAction({ actionId, done }, soon(context));
    context.output.print({ action_id: actionId, status: ActionStatus[status] }, decided);
    return exitCodes.fine;
  });
}

function decided({ action_id, status }: { readonly action_id: string; readonly status: string }): string {
  return `${status.toLowerCase()}  ${action_id}`;
}

interface ApprovalView {
  readonly action_id: string;
  readonly status: string;
  readonly risk: string;
  readonly tool: string;
  readonly summary: string;
  readonly expires_at: string | null;
  readonly execution: string;
}

function toView(approval: Approval): ApprovalView {
  return {
    action_id: approval.actionId,
    status: ActionStatus[approval.status],
    risk: RiskClass[approval.riskClass],
    tool: approval.tool,
    summary: approval.deterministicSummary,
    expires_at: toTime(approval.expiresAt),
    execution: ExecutionOutcome[approval.execution],
  };
}

function cardOf(approval: Approval) {
  return {
    source: approval.source,
    source_id: approval.sourceId,
    revision: approval.revision,
    supersedes: approval.supersedesActionId,
    superseded_by: approval.supersededByActionId,
    preview: approval.preview ?? {},
    justification: approval.modelJustification,
    untrusted_sources: approval.untrustedSources,
    warnings: approval.warnings,
    rejection_code: approval.rejectionCode,
    rejection_reason: approval.rejectionReason,
    execution_reason: approval.executionReason,
    result: approval.result,
  };
}

function toLine({ action_id, risk, tool, summary, expires_at, status }: ApprovalView): string {
  return `${action_id}  ${status.padEnd(8)}  ${risk.padEnd(12)}  until ${expires_at ?? "-"}  ${tool}: ${summary}`;
}

function toCard(view: ApprovalView & ReturnType<typeof cardOf>): string {
  const line = (name: string, value: string) => (value === "" ? [] : [`  ${name}  ${text(value)}`]);
  const rejected = [...new Set([view.rejection_code, view.rejection_reason])].filter((said) => said !== "").join(": ");
  const became = view.execution === ExecutionOutcome[ExecutionOutcome.UNSPECIFIED] ? "" : view.execution;
  return [
    toLine(view),
    `  from  ${text(`${view.source} ${view.source_id}`)}`,
    `  revision  ${view.revision}`,
    ...line("takes the place of", view.supersedes),
    ...line("its place is taken by", view.superseded_by),
    ...Object.entries(view.preview).map(([name, value]) => `  ${name.padEnd(12)}  ${text(value)}`),
    ...line("the model says", view.justification),
    ...view.untrusted_sources.map((source) => `  has read  ${source}`),
    ...view.warnings.map((warning) => `  BEWARE  ${warning}`),
    ...line("rejected", rejected),
    ...line("carried out", became),
    ...line("because", view.execution_reason),
    ...line("result", view.result),
  ].join("\n");
}

/** A text of several lines is marked on each of them, so that none can pass for a line of the card. */
function text(value: unknown): string {
  return typeof value === "string" ? value.replaceAll("\n", "\n                | ") : JSON.stringify(value);
}
