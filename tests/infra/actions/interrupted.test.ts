import { expect, test } from "@jest/globals";
import { ApprovalsService } from "../../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { ActionStatus } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { QueueMode, TurnsService } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { calls, gate, says } from "../../support/model-server.js";
import { report, weatherIn } from "../../support/test-tools.js";
import { startTurn, textsIn, valuesOf } from "../../support/turn-client.js";
import { loggedEvents } from "../rpc/logged-events.js";
import { post, ScriptedConveyor } from "./scripted.js";

const conveyor = new ScriptedConveyor();

test("what an interrupted turn has proposed can still be approved, is done once, and wakes no turn", async () => {
  const { server, model, weather, outlet } = conveyor;
  const over = gate();
  weather.does(async () => {
    await over.opened;
    return report("It is foggy.");
  });
  model.will(calls(post("ada"), weatherIn("Bern")), says("Yes?"));
  const { threadId } = await server.operator(ThreadsService).createThread({});
  const turns = server.operator(TurnsService);
  const turn = startTurn(turns, { threadId, userText: "Tell Ada." });
  await weather.started(1);
  const queueMode = QueueMode.INTERRUPT_AFTER_CURRENT_TOOL;
  const next = startTurn(turns, { threadId, userText: "No, wait.", queueMode });
  await next.saw("turnQueued");
  over.open();
  await Promise.all([turn.ended, next.ended]);
  expect(valuesOf(turn.events, "turnFailed")).toMatchObject([{ code: "TURN_INTERRUPTED" }]);
  expect(textsIn(next.events)).toEqual(["Yes?"]);

  const [pending] = await conveyor.pending();
  expect(pending).toMatchObject({ turnId: turn.events[0]!.turnId, targetEntity: "ada" });
  await conveyor.approve(pending!.actionId);
  await conveyor.until("actionExecutionFinished");
  // The thread goes on as if nothing had happened, and nobody else is asked anything.
  await conveyor.turnIn(threadId);
  const { approval } = await server.operator(ApprovalsService).getApproval({ actionId: pending!.actionId });
  expect(approval!.status).toBe(ActionStatus.EXECUTED);
  expect(outlet.ledger).toMatchObject([{ to: "ada" }]);
  expect(model.requests).toHaveLength(3);
  const kinds = (await loggedEvents(server)).map(({ payload }) => payload.case);
  expect(kinds).not.toContain("turnResumed");
});
