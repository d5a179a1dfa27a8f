import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { propose, type ActingTool, type Tool } from "../../../domain/approvals/index.js";
import { hour, second, toTimestamp, type NewFact } from "../../../domain/shared/index.js";
import { systemHash } from "../../../infra/ports/system-hash.js";
import { ActionStatus, ExecutionOutcome, Identity } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { statusChanged } from "../../support/action-facts.js";
import { fromOwner } from "../../support/backend.js";
import { outletTool } from "../../support/outlet.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";
import { LossyTool } from "./lossy-tool.js";

const conveyor = new Conveyor({ tools: (url) => [outletTool(url, { undoSeconds: 30 })] });
const changed = (change: Partial<ActingTool<unknown>>) => (url: string) => {
  return [{ ...outletTool(url, { undoSeconds: 30 }), ...change } as Tool];
};

/** Starts the server anew, when what was approved is due. */
async function later(different: Parameters<Conveyor["restart"]>[0]): Promise<void> {
  await conveyor.server.stop();
  conveyor.clock.forward(30 * second);
  await conveyor.restart(different);
}

describe("an approval is good for what was approved, and for nothing else", () => {
  test("another version of the tool is not run", async () => {
    const { actionId, turnId } = await conveyor.approved();
    await later({ tools: changed({ version: 2 }) });
    await conveyor.until("turnCompleted", turnId);
    expect(await conveyor.look(actionId)).toMatchObject({
      status: ActionStatus.APPROVED,
      execution: ExecutionOutcome.FAILED,
      executionReason: "The tool is another version than the one that was approved.",
    });
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("a tool that is gone is not run, and the model is told", async () => {
    const { actionId, turnId } = await conveyor.approved();
    await later({ tools: () => [] });
    await conveyor.until("turnCompleted", turnId);
    const { execution, executionReason } = await conveyor.look(actionId);
    expect({ execution, executionReason }).toEqual({
      ...{ execution: ExecutionOutcome.FAILED, executionReason: "There is no such tool any more." },
    });
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("a tool of the same name that only reads is not it", async () => {
    const { actionId, turnId } = await conveyor.approved();
    await later({ tools: (url) => [{ ...outletTool(url), kind: "reading" } as unknown as Tool] });
    await conveyor.until("turnCompleted", turnId);
    expect((await conveyor.look(actionId)).execution).toBe(ExecutionOutcome.FAILED);
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("another policy than the one that was approved by is not acted upon", async () => {
    const { actionId } = await conveyor.approved();
    await later({ config: { approvalHours: 12 } });
    await conveyor.until("actionExecutionFinished", actionId);
    expect(conveyor.outlet.requests).toBe(0);
  });

  test.each([
    ["another policy", { config: { approvalHours: 12 } }],
    ["another version of its tool", { tools: changed({ version: 2 }) }],
  ])("an action that was shown under %s is not approved, until it is shown anew", async (_, different) => {
    const { actionId, turnId } = await conveyor.propose();
    const { args } = await conveyor.look(actionId);
    await conveyor.restart(different);
    const refused = await refusedBy(conveyor.approvals.approveAction({ actionId }));
    expect(refused).toMatchObject({ code: "FailedPrecondition", refusal: "policy_changed", facts: { actionId } });
    const renewed = (await conveyor.approvals.editAction({ actionId, args: args! })).approval!;
    const { policyVersion } = await conveyor.system.getPolicySummary({});
    expect(renewed).toMatchObject({ revision: 2, args, policyVersion, supersedesActionId: actionId });
    await conveyor.approve(renewed.actionId);
    conveyor.clock.forward(30 * second);
    await conveyor.nudge();
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toMatchObject([args]);
  });

  test("the same edit under another policy is another revision", async () => {
    const first = await conveyor.propose();
    const args = { to: "ada", text: "hello" };
    const { approval: before } = await conveyor.approvals.editAction({ actionId: first.actionId, args });
    await conveyor.restart({ config: { approvalHours: 12 } });
    const again = conveyor.approvals.editAction({ actionId: first.actionId, args });
    expect((await refusedBy(again)).refusal).toBe("action_already_rejected");
    const { approval: after } = await conveyor.approvals.editAction({ actionId: before!.actionId, args });
    expect(after).toMatchObject({ revision: 3, supersedesActionId: before!.actionId });
  });

  test("a tool that goes away in the middle of a call leaves it unclear, and the owner is asked", async () => {
    const lossy = new LossyTool("after");
    await conveyor.restart({ tools: (url) => [lossy.tool(url)] });
    const { actionId } = await conveyor.approved();
    await lossy.isWaitedFor();
    await conveyor.restart({ tools: () => [] });
    await Promise.race([conveyor.until("actionExecutionFinished", actionId), afterSomeTalk()]);
    expect((await conveyor.look(actionId)).execution).toBe(ExecutionOutcome.UNKNOWN);
  });
});

/** Time for whoever has something to do: so much else was done meanwhile. */
async function afterSomeTalk(): Promise<void> {
  for (let times = 0; times < 5; times++) await conveyor.say("Hello.");
}

describe("an idempotency key", () => {
  const forged = async (actionId: string, key: string, text: string, to = "eve"): Promise<NewFact> => {
    const { policyVersion } = await conveyor.system.getPolicySummary({});
    const tool = outletTool(conveyor.outlet.url);
    if (tool.kind !== "acting") throw new Error("it is another tool");
    const wish = {
      ...{ actionId, tool, idempotencyKey: key, args: { to, text }, identity: Identity.NONE },
      ...{ toolCallId: actionId, justification: "", source: "chat", sourceId: "", supersedes: null },
    };
    const around = { hash: systemHash, policyVersion, untrusted: [], ownerWords: [], isCutOff: false };
    return propose(wish, { ...around, expiresAt: conveyor.clock.now() + hour });
  };
  const record = async (actionId: string, ...facts: NewFact[]) => {
    const threadId = await conveyor.newThread();
    const write = { stream: `action-${actionId}`, expected: "any", threadId, facts, provenance: fromOwner } as const;
    await conveyor.server.running.log.append({ occurredAt: conveyor.clock.now(), writes: [write] });
  };
  const approval = () =>
    statusChanged(ActionStatus.APPROVED, { notBefore: toTimestamp(conveyor.clock.now() - second) });

  test("that another action has used is a conflict: it is recorded, and nothing is done", async () => {
    await record("first", await forged("first", "key", "one"), approval());
    await conveyor.until("actionExecutionFinished", "first");
    await record("second", await forged("second", "key", "two"), approval());
    await conveyor.until("actionExecutionFinished", "second");
    expect(conveyor.recordedOf("second")).toEqual([
      "proposedActionCreated",
      "proposedActionStatusChanged",
      "idempotencyConflict",
      "actionExecutionFinished",
    ]);
    expect(await conveyor.look("second")).toMatchObject({
      execution: ExecutionOutcome.FAILED,
      executionReason: "idempotency_conflict",
    });
    expect(conveyor.outlet.ledger).toMatchObject([{ key: "key", text: "one" }]);
    const { items } = await conveyor.system.listAudit({ eventType: "idempotencyConflict" });
    expect(items).toMatchObject([{ actionId: "second" }]);
  });

  test("that another action has used is a conflict when it is approved: it is rejected, and the owner is told", async () => {
    await record("first", await forged("first", "key", "one"), approval());
    await conveyor.until("actionExecutionFinished", "first");
    await record("second", await forged("second", "key", "two"));
    await record("third", await forged("third", "another key", "three"));
    const items = [{ actionId: "third" }, { actionId: "second" }];
    for (const call of [
      () => conveyor.approvals.approveActions({ items }),
      () => conveyor.approvals.approveActions({ items }),
      () => conveyor.approvals.approveAction({ actionId: "second" }),
    ]) {
      const refused = await refusedBy(call());
      const why = { code: "Aborted", refusal: "idempotency_conflict", facts: { actionId: "second" } };
      expect(refused).toMatchObject(why);
    }
    expect(conveyor.recordedOf("second")).toEqual([
      "proposedActionCreated",
      "idempotencyConflict",
      "proposedActionStatusChanged",
    ]);
    const rejection = { rejectionReason: "idempotency_conflict", rejectionCode: "idempotency_conflict" };
    expect(await conveyor.look("second")).toMatchObject({ status: ActionStatus.REJECTED, ...rejection });
    expect(await conveyor.statusOf("third")).toBe("PENDING");
    const { items: audited } = await conveyor.system.listAudit({ eventType: "idempotencyConflict" });
    expect(audited).toMatchObject([{ actionId: "second" }]);
    expect(conveyor.outlet.ledger).toMatchObject([{ key: "key", text: "one" }]);
  });

  test.each([
    ["one", "key_reused"],
    ["two", "args_hash_mismatch"],
  ])("that was used is a conflict also for the same arguments, and says which (%s)", async (text, reason) => {
    await record("first", await forged("first", "key", "one"), approval());
    await conveyor.until("actionExecutionFinished", "first");
    await record("second", await forged("second", "key", text), approval());
    expect((await conveyor.until("idempotencyConflict", "second")).payload).toMatchObject({ reason });
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("that two actions want to use at the same time is used by one of them", async () => {
    await record("first", await forged("first", "key", "one"));
    await record("second", await forged("second", "key", "two"));
    await conveyor.approvals.approveActions({ items: [{ actionId: "first" }, { actionId: "second" }] });
    await conveyor.until("actionExecutionFinished", "first");
    await conveyor.until("actionExecutionFinished", "second");
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("a tool is not handed what its schema makes of what was approved", async () => {
    const to = z.string().transform((text) => decodeURIComponent(text));
    await conveyor.restart({ tools: changed({ args: z.strictObject({ to, text: z.string() }) }) });
    await record("first", await forged("first", "key", "one", "%65ve"), approval());
    await conveyor.until("actionExecutionFinished", "first");
    expect(await conveyor.look("first")).toMatchObject({
      executionReason: "The tool makes something else of these arguments, or refuses them.",
    });
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("an action whose arguments are not those that were bound is not carried out", async () => {
    const proposal = await forged("first", "key", "one");
    if (proposal.case !== "proposedActionCreated") throw new Error("it is something else");
    const tampered = { ...proposal, value: { ...proposal.value, args: { to: "mallory", text: "one" } } };
    await record("first", tampered, approval());
    await conveyor.until("actionExecutionFinished", "first");
    expect(await conveyor.look("first")).toMatchObject({
      executionReason: "The arguments are not those that were approved.",
    });
    expect(conveyor.outlet.requests).toBe(0);
  });
});
