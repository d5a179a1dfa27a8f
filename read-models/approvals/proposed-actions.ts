import { table, type Row } from "../shared/table.js";

/**
 * Each action that was ever proposed, and what became of it. That nobody uses an idempotency key twice is decided before
 * it is recorded; here it is not enforced. An event that breaks the rule has happened, and must neither stop the projection
 * nor take the place of an action that may be approved already.
 */
export const proposedActions = table(
  "proposed_actions",
  {
    action_id: "text",
    user_id: "text",
    thread_id: "text",
    turn_id: "text?",
    tool_call_id: "text",
    source: "text",
    source_id: "text",
    tool: "text",
    tool_version: "integer",
    args_json: "text",
    /** The number of its RiskClass: the higher, the riskier. */
    risk_class: "integer",
    /** The number of its Identity. */
    identity: "integer",
    justification: "text",
    idempotency_key: "text",
    /** "PENDING", "APPROVED", "REJECTED" or "EXECUTED". */
    status: "text",
    rejection_reason: "text?",
    /** Why, in one word; null unless it was rejected. */
    rejection_code: "text?",
    superseded_by: "text?",
    supersedes: "text?",
    revision: "integer",
    summary: "text",
    target: "text",
    preview_json: "text",
    card_hash: "blob",
    policy_version: "text",
    untrusted_sources_json: "text",
    warnings_json: "text",
    /** An approval can be taken back until then. */
    undo_until: "text?",
    /** The number of the last attempt's ExecutionOutcome; 0 before the first has ended, and while another is under way. */
    execution: "integer",
    execution_reason: "text?",
    result: "text?",
    /** How often it was begun. */
    attempts: "integer",
    /** When it is to be carried out, or tried again; null if that is not going to happen. */
    due_at: "text?",
    /** 1 from an intent until its outcome, whatever that is; otherwise 0. */
    in_flight: "integer",
    created_at: "text",
    expires_at: "text",
    /** When it was approved or rejected. */
    decided_at: "text?",
    position: "integer",
    /** Where the status, the decision, the outcome and the due time come from: an erasure there takes them away. */
    status_position: "integer?",
    decided_position: "integer?",
    execution_position: "integer?",
    due_position: "integer?",
  },
  {
    primaryKey: ["action_id"],
    indexes: [
      ["user_id", "tool", "idempotency_key"],
      ["status", "risk_class", "expires_at"],
      ["status", "expires_at"],
      ["status", "due_at"],
      ["status", "in_flight", "position"],
      ["status", "position"],
      ["position"],
      ["status_position"],
      ["decided_position"],
      ["execution_position"],
      ["due_position"],
    ],
  },
);

export type ProposedActionRow = Row<typeof proposedActions>;

export type ActionStatusText = "PENDING" | "APPROVED" | "REJECTED" | "EXECUTED";
