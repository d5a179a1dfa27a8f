import { describe, expect, test } from "@jest/globals";
import { Conveyor } from "./conveyor.js";

const conveyor = new Conveyor();

describe("whoever sends a turn that has to be approved", () => {
  const sending = (threadId: string) => ({
    ...{ threadId, clientMessageId: "1", userText: 'outlet_post to: ada text: "hello"' },
  });

  test("is told which action waits, and the answer when they ask again later", async () => {
    const threadId = await conveyor.newThread();
    const paused = await conveyor.turns.sendTurn(sending(threadId));
    expect(paused.assistantMessage).toContain("I ask for outlet_post.");
    const { items } = await conveyor.approvals.listApprovals({});
    expect(items.map(({ actionId }) => actionId)).toEqual([paused.actionId]);
    expect(await conveyor.turns.sendTurn(sending(threadId))).toEqual(paused);
    await conveyor.approve(paused.actionId);
    await conveyor.until("turnCompleted", paused.turnId);
    await conveyor.shown();
    const ended = await conveyor.turns.sendTurn(sending(threadId));
    expect(ended.turnId).toBe(paused.turnId);
    expect(ended.assistantMessage).toContain("It was done.");
    expect(ended.lastSequence).toBeGreaterThan(paused.lastSequence);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("is told the same after a restart", async () => {
    const threadId = await conveyor.newThread();
    const { actionId, turnId } = await conveyor.turns.sendTurn(sending(threadId));
    await conveyor.restart();
    expect(await conveyor.turns.sendTurn(sending(threadId))).toMatchObject({ actionId, turnId });
  });

  // The field names the first action that is pending.
  test("is told the revision that waits, and not the one whose place it took", async () => {
    const threadId = await conveyor.newThread();
    const { actionId } = await conveyor.turns.sendTurn(sending(threadId));
    const { approval } = await conveyor.approvals.editAction({ actionId, args: { to: "bob", text: "hello" } });
    expect((await conveyor.turns.sendTurn(sending(threadId))).actionId).toBe(approval!.actionId);
  });

  test("sees the whole turn if they watch it: it pauses, goes on and ends", async () => {
    const threadId = await conveyor.newThread();
    const kinds: string[] = [];
    for await (const { payload } of conveyor.turns.startTurn(sending(threadId))) {
      if (payload.case !== undefined && payload.case !== "heartbeat") kinds.push(payload.case);
      if (payload.case === "proposedActionCreated") await conveyor.approve(payload.value.actionId);
    }
    const stages = ["proposedActionCreated", "turnPaused", "turnResumed", "turnCompleted"];
    expect(kinds.filter((kind) => stages.includes(kind))).toEqual(stages);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });
});
