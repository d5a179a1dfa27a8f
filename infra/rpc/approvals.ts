import type { JsonObject } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import { z } from "zod";
import {
  approveAction,
  approveActions,
  cancelAction,
  rejectAction,
  resolveAction,
} from "../../commands/approvals/decide-action.js";
import { editAction, type Editing } from "../../commands/approvals/edit-action.js";
import type { Clock } from "../../commands/ports/index.js";
import { refuse } from "../../domain/shared/index.js";
import type { ApprovalsService } from "../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { ActionStatus, ExecutionOutcome, Identity, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import {
  findAction,
  findActionStatus,
  listActions,
  listPastActions,
  type ProposedActionRow,
} from "../../read-models/approvals/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { provenanceOf } from "./caller.js";
import { page, pageBy } from "./paging.js";
import { expectDone, toConnectError } from "./refusal.js";
import { timestampIfAny, timestampOf } from "./times.js";

/** By their numbers, which is how the table keeps them. */
const risks = [
  RiskClass.RISK_CLASS_UNSPECIFIED,
  RiskClass.READ,
  RiskClass.WRITE,
  RiskClass.EXFILTRATION,
  RiskClass.DESTRUCTIVE,
  RiskClass.HIGH,
];
const identities = [Identity.UNSPECIFIED, Identity.USER, Identity.BOT, Identity.NONE];
const outcomes = [
  ExecutionOutcome.UNSPECIFIED,
  ExecutionOutcome.DONE,
  ExecutionOutcome.FAILED_RETRYABLE,
  ExecutionOutcome.FAILED,
  ExecutionOutcome.UNKNOWN,
];

/** Where a page of pending actions ends. */
const place = z.strictObject({ riskClass: z.int(), expiresAt: z.iso.datetime(), position: z.int() });

export function approvalsService(
  editing: Editing,
  query: Kysely<ReadModelTables>,
  clock: Clock,
): ServiceImpl<typeof ApprovalsService> {
  const find = async (actionId: string) => {
    const row = await findAction(query, actionId);
    if (row === undefined) throw toConnectError(refuse("action_not_found"));
    return row;
  };
  const by = (context: HandlerContext) => ({ at: clock.now(), provenance: provenanceOf(context) });
  const now = async (actionId: string) => {
    const status = await findActionStatus(query, actionId);
    if (status === null) throw toConnectError(refuse("action_not_found"));
    return { actionId, status: statusOf({ status }) };
  };

  return {
    async listApprovals({ status, ...request }) {
      const wanted = wantedStatus(status);
      if (wanted !== "PENDING") {
        const { rows, nextPageToken } = await page(`approvals/${wanted}`, request, Infinity, (beforePosition, limit) =>
          listPastActions(query, { status: wanted, beforePosition, limit }),
        );
        return { items: rows.map(toApproval), nextPageToken };
      }
      const { rows, nextPageToken } = await pageBy(
        "approvals",
        request,
        placeOf,
        (after, limit) => listActions(query, { status: wanted, after, limit }),
        place,
      );
      return { items: rows.map(toApproval), nextPageToken };
    },

    async getApproval({ actionId }) {
      return { approval: toApproval(await find(actionId)) };
    },

    async approveAction({ actionId, cardHash }, context) {
      expectDone(await approveAction(editing, { actionId, seen: seenOf(cardHash), ...by(context) }));
      return now(actionId);
    },

    async approveActions({ items }, context) {
      const actions = items.map(({ actionId, cardHash }) => ({ actionId, seen: seenOf(cardHash) }));
      expectDone(await approveActions(editing, { actions, ...by(context) }));
      return { items: await Promise.all(items.map(({ actionId }) => now(actionId))) };
    },

    async rejectAction({ actionId, reason }, context) {
      expectDone(await rejectAction(editing, { actionId, reason, ...by(context) }));
      return now(actionId);
    },

    async editAction({ actionId, args = {} }, context) {
      const edited = await editAction(editing, { actionId, args, ...by(context) });
      if (edited.outcome === "refused") throw toConnectError(edited);
      return { approval: toApproval(await find(edited.actionId)) };
    },

    async cancelAction({ actionId }, context) {
      expectDone(await cancelAction(editing, { actionId, ...by(context) }));
      return now(actionId);
    },

    async resolveAction({ actionId, done }, context) {
      expectDone(await resolveAction(editing, { actionId, isDone: done, ...by(context) }));
      return now(actionId);
    },
  };
}

/** No hash is no claim. */
function seenOf(cardHash: Uint8Array): Uint8Array | null {
  return cardHash.length === 0 ? null : cardHash;
}

function wantedStatus(status: ActionStatus): "PENDING" | "APPROVED" | "REJECTED" | "EXECUTED" {
  switch (status) {
    case ActionStatus.ACTION_STATUS_UNSPECIFIED:
    case ActionStatus.PENDING:
      return "PENDING";
    case ActionStatus.APPROVED:
      return "APPROVED";
    case ActionStatus.REJECTED:
      return "REJECTED";
    case ActionStatus.EXECUTED:
      return "EXECUTED";
    default:
      throw toConnectError(refuse("value_unknown", { field: "status" }));
  }
}

function statusOf({ status }: Pick<ProposedActionRow, "status">): ActionStatus {
  return ActionStatus[status as keyof typeof ActionStatus];
}

function placeOf(row: ProposedActionRow) {
  return { riskClass: row.risk_class, expiresAt: row.expires_at, position: row.position };
}

function toApproval(row: ProposedActionRow) {
  return {
    actionId: row.action_id,
    source: row.source,
    sourceId: row.source_id,
    tool: row.tool,
    status: statusOf(row),
    riskClass: risks[row.risk_class] ?? RiskClass.RISK_CLASS_UNSPECIFIED,
    identity: identities[row.identity] ?? Identity.UNSPECIFIED,
    deterministicSummary: row.summary,
    preview: JSON.parse(row.preview_json) as JsonObject,
    createdAt: timestampOf(row.created_at),
    expiresAt: timestampOf(row.expires_at),
    rejectionReason: row.rejection_reason ?? "",
    rejectionCode: row.rejection_code ?? "",
    execution: outcomes[row.execution] ?? ExecutionOutcome.UNSPECIFIED,
    targetEntity: row.target,
    modelJustification: row.justification,
    args: JSON.parse(row.args_json) as JsonObject,
    cardHash: row.card_hash,
    revision: row.revision,
    supersedesActionId: row.supersedes ?? "",
    supersededByActionId: row.superseded_by ?? "",
    undoUntil: timestampIfAny(row.undo_until),
    untrustedSources: JSON.parse(row.untrusted_sources_json) as string[],
    warnings: JSON.parse(row.warnings_json) as string[],
    threadId: row.thread_id,
    turnId: row.turn_id ?? "",
    executionReason: row.execution_reason ?? "",
    result: row.result ?? "",
    policyVersion: row.policy_version,
    decidedAt: timestampIfAny(row.decided_at),
  };
}
