import { createClient } from "@connectrpc/connect";
import { setTimeout as pause } from "node:timers/promises";
import { socketFile } from "../../infra/server/socket-file.js";
import { ApprovalsService } from "../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { ActionStatus, ExecutionOutcome } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { Outlet, type OutletFault } from "../support/outlet.js";
import { randomFrom, type Random } from "../support/random.js";
import { socketTransport } from "../support/server.js";
import { FastTime } from "./effect-once-time.js";
import { inLanes } from "./lanes.js";
import { withDirectory } from "./scratch.js";
import { spawnChild, type Spawned } from "./spawned.js";
import type { Tally } from "./tally.js";

const actionCount = 4;
/** About as long as four executions take, with what a provider that hangs adds. */
const killMillisMax = 250;
/** So often a server may say that nothing has happened, every 15 s, before what is not settled counts as lost. */
const idleBeatsMax = 6;
/** How much faster their time runs than ours: the lease of an attempt is a few seconds long. */
const rate = 15;
const faults: readonly OutletFault[] = [
  "none",
  "none",
  "none",
  "fail_after",
  "reset_after",
  "hang_after",
  "forget",
  "late",
];

/** Each time: a server, some approvals, kill -9, another server on the same files, which has to settle all of it. */
export async function checkKilledServers(n: number, seed: number, tally: Tally): Promise<void> {
  await inLanes(n, () => async (index) => {
    const random = randomFrom(seed * 20_011 + index);
    const outlet = await Outlet.listen({ honoursKeys: random.chance(50) });
    try {
      const problem = await withDirectory((path) => killAndGoOn(path, outlet, random, tally));
      tally.case(problem === null ? null : `kill ${index}: ${problem}`);
    } finally {
      outlet.close();
    }
  });
}

async function killAndGoOn(path: string, outlet: Outlet, random: Random, tally: Tally): Promise<string | null> {
  const { since } = new FastTime(rate);
  const first = await serveIn(path, outlet, since);
  const { threadId } = await client(path, ThreadsService).createThread({});
  const wanted = Array.from({ length: actionCount }, (_, at) => `outlet_post to: ada${at} text: "hello ${at}"`);
  await client(path, TurnsService).sendTurn({ threadId, clientMessageId: "1", userText: wanted.join("\n") });
  const { items } = await client(path, ApprovalsService).listApprovals({});
  if (items.length !== actionCount) return `${items.length} actions were proposed, not ${actionCount}`;
  const actionIds = items.map(({ actionId }) => actionId);
  outlet.will(...actionIds.map(() => random.pick(faults)));
  const approved = new Set<string>();
  const approving = approve(path, actionIds, approved).catch(() => undefined); // The server will be gone.
  await Promise.race([approving, pause(random.below(killMillisMax))]);
  if (random.chance(50)) await pause(random.below(killMillisMax));
  first.kill();
  await Promise.all([first.ended, approving]);
  tally.add("kills of a server", 1);

  const second = await serveIn(path, outlet, since);
  try {
    await approve(path, actionIds, approved);
    const settled = await settledIn(path, threadId, actionCount);
    return await judge(path, outlet, settled, tally);
  } finally {
    second.kill();
    await second.ended;
  }
}

async function serveIn(directory: string, { url }: Outlet, since: number): Promise<Spawned> {
  const child = spawnChild("effect-once-child", { directory, url, rate, since });
  await child.said(1);
  return child;
}

function client<Service extends Parameters<typeof createClient>[0]>(path: string, service: Service) {
  return createClient(service, socketTransport(socketFile(path)));
}

async function approve(path: string, actionIds: readonly string[], approved: Set<string>): Promise<void> {
  const approvals = client(path, ApprovalsService);
  for (const actionId of actionIds) {
    if (approved.has(actionId)) continue;
    await approvals.approveAction({ actionId });
    approved.add(actionId);
  }
}

/**
 * How many actions have an outcome that stays, when all have, or it takes too long. That is counted by the server's own
 * signs of life: after a machine has stood still, a clock of ours would be the first to run out.
 */
async function settledIn(path: string, threadId: string, count: number): Promise<number> {
  const settled = new Set<string>();
  let idleBeats = 0;
  for await (const { payload } of client(path, EventsService).watchThread({ threadId })) {
    idleBeats = payload.case === "heartbeat" ? idleBeats + 1 : 0;
    if (payload.case === "actionExecutionFinished") {
      const { actionId, outcome } = payload.value;
      if (outcome !== ExecutionOutcome.FAILED_RETRYABLE) settled.add(actionId);
    }
    if (settled.size === count || idleBeats > idleBeatsMax) break;
  }
  return settled.size;
}

async function judge(path: string, outlet: Outlet, settled: number, tally: Tally): Promise<string | null> {
  const approvals = client(path, ApprovalsService);
  const { items: executed } = await approvals.listApprovals({ status: ActionStatus.EXECUTED });
  const { items: others } = await approvals.listApprovals({ status: ActionStatus.APPROVED });
  const keys = new Set(outlet.ledger.map(({ key }) => key));
  const unknown = others.filter(({ execution }) => execution === ExecutionOutcome.UNKNOWN);
  const duplicates = outlet.ledger.length - keys.size;
  tally.add("actions", actionCount);
  tally.add("done", keys.size);
  tally.add("duplicates", duplicates);
  tally.add("left unknown", unknown.length);
  tally.add("lost approvals", actionCount - settled);
  if (duplicates > 0) return `${duplicates} effects came twice`;
  if (settled < actionCount) return `${actionCount - settled} approvals were lost`;
  const undone = executed.find(({ args }) => !outlet.ledger.some(({ to }) => to === args?.["to"]));
  return undone === undefined ? null : `${undone.actionId} counts as done, and is not`;
}
