import { describe, expect, test } from "@jest/globals";
import { minute, second } from "../../../domain/shared/index.js";
import { outletTool } from "../../support/outlet.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";
import { LossyTool } from "./lossy-tool.js";

const conveyor = new Conveyor();
const usual = { tools: (url: string) => [outletTool(url)] };
const undoable = { tools: (url: string) => [outletTool(url, { undoSeconds: 30 })] };

describe("a server that is stopped and started again", () => {
  test("while an action is pending: it can be approved, and is done once", async () => {
    const { actionId, turnId } = await conveyor.propose();
    await conveyor.restart();
    expect(await conveyor.statusOf(actionId)).toBe("PENDING");
    await conveyor.approve(actionId);
    await conveyor.until("turnCompleted", turnId);
    await conveyor.restart();
    await conveyor.nudge();
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("while one is approved and not due: it is done when it is, once", async () => {
    await conveyor.restart(undoable);
    const { actionId, turnId } = await conveyor.approved();
    await conveyor.restart();
    expect(await conveyor.statusOf(actionId)).toBe("APPROVED");
    expect(conveyor.outlet.requests).toBe(0);
    await conveyor.server.stop();
    conveyor.clock.forward(30 * second);
    await conveyor.start();
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("while one is approved and not due: the approval can still be taken back", async () => {
    await conveyor.restart(undoable);
    const { actionId, turnId } = await conveyor.approved();
    await conveyor.restart();
    await conveyor.approvals.cancelAction({ actionId });
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("after the effect and before its outcome: the provider is asked, and nothing is done again", async () => {
    const lossy = new LossyTool("after");
    await conveyor.restart({ tools: (url) => [lossy.tool(url)] });
    const { actionId, turnId } = await conveyor.approved();
    await lossy.isWaitedFor();
    const refused = await refusedBy(conveyor.approvals.cancelAction({ actionId }));
    expect(refused.refusal).toBe("action_already_begun");
    await conveyor.restart(usual);
    await conveyor.until("turnCompleted", turnId);
    expect(await conveyor.statusOf(actionId)).toBe("EXECUTED");
    expect(conveyor.outlet.ledger).toHaveLength(1);
    const intents = conveyor.recordedOf(actionId).filter((type) => type === "actionExecutionIntended");
    expect(intents).toHaveLength(1);
  });

  test("between the intent and the effect: the provider is asked, and it is tried again later", async () => {
    const lossy = new LossyTool("before");
    await conveyor.restart({ tools: (url) => [lossy.tool(url)] });
    const { actionId, turnId } = await conveyor.approved();
    await lossy.isWaitedFor();
    await conveyor.restart(usual);
    await conveyor.outlet.asked(1);
    conveyor.clock.forward(2 * minute);
    await conveyor.nudge();
    await conveyor.until("actionExecutionFinished", actionId);
    expect(conveyor.outlet.ledger).toEqual([]);
    conveyor.clock.forward(minute);
    await conveyor.nudge();
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("again and again in the middle of it: it is done once", async () => {
    const lossy = new LossyTool("after");
    await conveyor.restart({ tools: (url) => [lossy.tool(url)] });
    const { turnId } = await conveyor.approved();
    await lossy.isWaitedFor();
    for (let times = 0; times < 3; times++) await conveyor.restart();
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("after an action was settled and before its turn went on: the turn goes on", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const rejecting = conveyor.approvals.rejectAction({ actionId, reason: "no" });
    await conveyor.until("proposedActionStatusChanged", actionId);
    await rejecting.catch(() => undefined);
    await conveyor.restart();
    await conveyor.until("turnCompleted", turnId);
    const told = conveyor.recorded().filter(({ type }) => type === "toolExecutionFinished");
    expect(told).toHaveLength(1);
  });
});
