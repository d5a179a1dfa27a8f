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
    const { status } = await approvals.approveAction({ actionId, cardHash: approval?.cardHash ?? new Uint8Array() });
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
    preview: approval.preview ?? {},
    justification: approval.modelJustification,
    untrusted_sources: approval.untrustedSources,
    warnings: approval.warnings,
    revision: approval.revision,
    rejection_reason: approval.rejectionReason,
    execution_reason: approval.executionReason,
    result: approval.result,
  };
}

function toLine({ action_id, risk, tool, summary, expires_at, status }: ApprovalView): string {
  return `${action_id}  ${status.padEnd(8)}  ${risk.padEnd(12)}  until ${expires_at ?? "-"}  ${tool}: ${summary}`;
}

function toCard(view: ApprovalView & ReturnType<typeof cardOf>): string {
  return [
    toLine(view),
    ...Object.entries(view.preview).map(([name, value]) => `  ${name.padEnd(12)}  ${text(value)}`),
    ...(view.justification === "" ? [] : [`  the model says  ${text(view.justification)}`]),
    ...view.untrusted_sources.map((source) => `  has read  ${source}`),
    ...view.warnings.map((warning) => `  BEWARE  ${warning}`),
    ...(view.result === "" ? [] : [`  result  ${text(view.result)}`]),
  ].join("\n");
}

/** A text of several lines is marked on each of them, so that none can pass for a line of the card. */
function text(value: unknown): string {
  return typeof value === "string" ? value.replaceAll("\n", "\n                | ") : JSON.stringify(value);
}
