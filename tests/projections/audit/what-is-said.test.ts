import { expect, test } from "@jest/globals";
import { toTimestamp, type NewFact } from "../../../domain/shared/index.js";
import { auditLogProjection } from "../../../projections/audit/audit-log.js";
import { ActionStatus, ExecutionOutcome, TriggerType } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import {
  approved,
  bytes,
  conflicted,
  finished,
  intended,
  notified,
  policyDecided,
  proposed,
  statusChanged,
  toolFinished,
  toolStarted,
} from "../../support/action-facts.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner } from "../../support/backend.js";
import { threadDeleted } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const secret = "a secret";
const at = (seconds: number) => new Date(noon + seconds * 1_000).toISOString();
const atNoon = toTimestamp(noon);
const hex = (text: string) => Buffer.from(text).toString("hex");

/** What somebody wrote is a secret here. */
const said: readonly (readonly [NewFact, entity: string, said: object])[] = [
  [
    policyDecided("a"),
    "turn-1",
    {
      policy_id: "external.approved",
      decision: "REQUIRE_APPROVAL",
      reason: "requires_approval",
      tool_call_id: "call a",
    },
  ],
  [
    proposed("a", {
      ...{ justification: secret, deterministicSummary: secret, targetEntity: secret, undoSeconds: 10 },
      ...{ preview: { secret }, args: { secret }, untrustedSources: [secret], warnings: [secret] },
    }),
    "a",
    {
      ...{ tool: "gmail_send_draft", tool_version: 3, tool_call_id: "call a", risk_class: "EXFILTRATION" },
      ...{ identity: "BOT", idempotency_key: "key a", policy_version: "p1", source: "chat", source_id: "turn-1" },
      ...{ revision: 1, supersedes: "", undo_seconds: 10, expires_at: at(3_600) },
      ...{ args_hash: hex("args a"), card_hash: hex("card a") },
    },
  ],
  [approved, "a", { status: "APPROVED", reason_code: "", not_before: at(10), superseded_by: "" }],
  [
    statusChanged(ActionStatus.REJECTED, { reason: secret, reasonCode: "owner" }),
    "a",
    { status: "REJECTED", reason_code: "owner", not_before: null, superseded_by: "" },
  ],
  [
    intended(2),
    "a",
    {
      ...{ tool: "gmail_send_draft", idempotency_key: "key", attempt: 2, lease_until: "2026-01-01T12:02:00.000Z" },
      args_hash: hex("args key"),
    },
  ],
  [
    finished(ExecutionOutcome.FAILED, {
      ...{ reason: secret, result: secret, origin: secret, untrusted: true, resultHash: bytes("result") },
    }),
    "a",
    {
      ...{ tool: "gmail_send_draft", idempotency_key: "key", attempt: 1, outcome: "FAILED" },
      ...{ settled_by: "execution", result_hash: hex("result"), retry_at: null, untrusted: true, truncated: false },
    },
  ],
  [conflicted, "a", { tool: "gmail_send_draft", idempotency_key: "key", reason: "args_hash_mismatch" }],
  [
    {
      case: "turnStarted",
      value: { turnId: "b", userMessageId: "m", triggerType: TriggerType.JOB_WAKEUP, triggerSourceId: "j" },
    },
    "b",
    { trigger_type: "JOB_WAKEUP", trigger_source_id: "j", user_message_id: "m" },
  ],
  [{ case: "turnCompleted", value: { assistantMessageId: "m" } }, "turn-1", { assistant_message_id: "m" }],
  [
    { case: "turnFailed", value: { code: "timeout", message: secret, retryable: true, retryAt: atNoon } },
    "turn-1",
    { code: "timeout", retryable: true, retry_at: at(0) },
  ],
  [
    { case: "turnPaused", value: { turnId: "b", pendingActionCount: 2, stepsUsed: 3, stepsRemaining: 4 } },
    "b",
    { pending_action_count: 2, steps_used: 3, steps_remaining: 4 },
  ],
  [
    { case: "turnResumed", value: { resumedReason: "approved", stepsRemaining: 4 } },
    "turn-1",
    { resumed_reason: "approved", steps_remaining: 4 },
  ],
  [toolStarted("e"), "turn-1", { execution_id: "e", tool_call_id: "call", tool: "web_open" }],
  [
    toolFinished(secret, { origin: secret, exitCode: 1, failed: true }),
    "turn-1",
    {
      ...{ execution_id: "e", tool_call_id: "call", tool: "web_open", exit_code: 1, duration_ms: 12 },
      ...{ timed_out: false, truncated: false, failed: true, untrusted: true },
    },
  ],
  [
    { case: "pairingCodeCreated", value: { pairingId: "p", createdByDeviceId: "d", expiresAt: atNoon } },
    "p",
    { created_by: "d", expires_at: at(0) },
  ],
  [
    { case: "pairingAttemptFailed", value: { reason: "pairing_code_invalid", address: "192.0.2.1" } },
    "t",
    { reason: "pairing_code_invalid", address: "192.0.2.1" },
  ],
  [
    { case: "devicePaired", value: { deviceId: "d", pairingId: "p", name: secret, publicKey: secret } },
    "d",
    { pairing_id: "p" },
  ],
  [{ case: "deviceRevoked", value: { deviceId: "d", reason: "owner" } }, "d", { reason: "owner" }],
  [
    { case: "tokenIssued", value: { tokenId: "k", deviceId: "d", replacesTokenId: "j", expiresAt: atNoon } },
    "d",
    { token_id: "k", replaces: "j", expires_at: at(0) },
  ],
  [
    { case: "tokenRevoked", value: { tokenId: "k", deviceId: "d", reason: "rotated" } },
    "d",
    { token_id: "k", reason: "rotated" },
  ],
  [{ case: "agentMemoryUpdated", value: { content: secret } }, "t", {}],
  [
    { case: "heartbeatConfigured", value: { enabled: true, intervalMinutes: 30, tasksMarkdown: secret } },
    "t",
    { enabled: true, interval_minutes: 30 },
  ],
  [notified("n", "a"), "n", { type: "approval_needed", reason: "because", resource_kind: "action", resource_id: "a" }],
  [
    { case: "retentionApplied", value: { policy: "audit", erasedBefore: atNoon, erasedEvents: 3n } },
    "t",
    { policy: "audit", erased_before: at(0), erased_events: 3 },
  ],
  [
    { case: "auditEventRecorded", value: { entryId: "p1", eventType: "policy_changed" } },
    "p1",
    { event_type: "policy_changed" },
  ],
  [{ case: "logRestored", value: { restoredThroughPosition: 7n } }, "t", { restored_through_position: 7 }],
  [threadDeleted, "t", {}],
];

test("entries tell of every event that concerns an auditor", () => {
  const types = [...new Set([...said.map(([fact]) => fact.case), "eventsErased"])];
  expect(types.sort()).toEqual(Object.keys(auditLogProjection.on).sort());
});

test("entries hold ids, codes and numbers, and nothing that somebody wrote", async () => {
  const { log, store } = await bench.backend([auditLogProjection]);
  const provenance = { ...fromOwner, turnId: "turn-1" };
  const facts = said.map(([fact]) => fact);
  await record(log, appendOf({ ...write("action-a", "any", ...facts), threadId: "t", provenance }));
  const rows = await store.query.selectFrom("audit_log").selectAll().orderBy("position").execute();
  expect(rows.map((row) => [row.event_type, row.entity_id, JSON.parse(row.payload_json) as unknown])).toEqual(
    said.map(([fact, entity, payload]) => [fact.case, entity, payload]),
  );
  expect(JSON.stringify(rows)).not.toContain("secret");
});

test("an entry is short, however much an event says", async () => {
  const { log, store } = await bench.backend([auditLogProjection]);
  const long = "\u{1f600}".repeat(200_000);
  const facts: readonly NewFact[] = [
    finished(ExecutionOutcome.FAILED, { tool: long, idempotencyKey: long, settledBy: long, reason: long }),
    { case: "pairingAttemptFailed", value: { reason: long, address: long } },
    { case: "policyDecisionMade", value: { policyId: long, reason: long, toolCallId: long } },
  ];
  await record(log, appendOf(write("action-a", "any", ...facts)));
  const rows = await store.query.selectFrom("audit_log").selectAll().execute();
  expect(rows).toHaveLength(facts.length);
  for (const { payload_json } of rows) expect(payload_json.length).toBeLessThan(2_000);
});
