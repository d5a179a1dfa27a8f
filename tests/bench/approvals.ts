import { createClient, type Client } from "@connectrpc/connect";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { ApprovalsService } from "../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { ActionStatus } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { openTestLog } from "../support/backend.js";
import { networkTransport } from "../support/server.js";
import { metricsOf } from "./metrics-of.js";
import { interleave, median, type Measured, type Trial } from "./measure.js";
import { messageAppend } from "./messages.js";
import type { Benchmark, Setting } from "./setting.js";

const pendingListed = 20;
const pastFew = 100;
/** The long log of the other rows has ten times as many events as there are past actions here. */
const eventsPerAction = 10;
const callsPerRound = 100;

interface Server {
  readonly approvals: Client<typeof ApprovalsService>;
  readonly system: Client<typeof SystemService>;
  readonly actionIds: readonly string[];
  /** How long a method takes the server, by its own account. */
  medianMillisOf(method: string): Promise<number>;
  stop(): Promise<void>;
}

export const approvalBenchmarks: readonly Benchmark[] = [
  { name: "approve.latency", bound: { atMost: 2.5 }, run: compareWithAppend },
  { name: "approvals.list", bound: { atMost: 1.5 }, run: compareLists },
];

/**
 * What approving takes of the server, by its own account, beside one event that is made durable and nothing else. Each such
 * append comes by itself, after a call of the same server, as an approval does: many in a row are faster. Told beside it:
 * what the phone sees, and what it sees of a call that does nothing.
 */
async function compareWithAppend(setting: Setting): Promise<Measured> {
  const { rounds } = setting.sizes;
  const calls = callsIn(setting);
  const server = await startChild(setting.directory(), 0, (rounds + 1) * calls);
  const log = openTestLog(setting.directory());
  const waiting = server.actionIds.values();
  const idle = () => server.system.getAgentMemory({});
  try {
    const { ours, peer, extra } = await interleave(
      rounds,
      "ms",
      () => medianMillis(calls, () => server.approvals.approveAction({ actionId: waiting.next().value! }), idle),
      () => medianMillis(calls, () => log.append(messageAppend("thread", 1)), idle),
      { unaryMillis: () => medianMillis(calls, idle) },
    );
    const approveMillis = await server.medianMillisOf("ApprovalsService/ApproveAction");
    return {
      ratio: approveMillis / peer!,
      ours: approveMillis,
      peer,
      unit: "ms",
      extra: { rounds, unaryMillis: extra?.["unaryMillis"], atThePhoneMillis: ours },
    };
  } finally {
    log.close();
    await server.stop();
  }
}

/** What waits for the owner, after years of it and after a day. */
async function compareLists(setting: Setting): Promise<Measured> {
  const pastMany = setting.sizes.logEvents / eventsPerAction;
  const many = await startChild(setting.directory(), pastMany, pendingListed);
  const few = await startChild(setting.directory(), pastFew, pendingListed);
  const trial =
    ({ approvals }: Server): Trial =>
    () =>
      medianMillis(callsIn(setting), async () => {
        const { items } = await approvals.listApprovals({ status: ActionStatus.PENDING });
        if (items.length !== pendingListed) throw new Error(`${items.length} actions wait, not ${pendingListed}`);
      });
  try {
    const measured = await interleave(setting.sizes.rounds, "ms", trial(many), trial(few));
    return { ...measured, extra: { ...measured.extra, past: pastMany, pastFew } };
  } finally {
    await Promise.all([many.stop(), few.stop()]);
  }
}

function callsIn({ sizes }: Setting): number {
  return Math.min(callsPerRound, sizes.pings);
}

async function medianMillis(
  count: number,
  work: () => Promise<unknown>,
  before?: () => Promise<unknown>,
): Promise<number> {
  const figures: number[] = [];
  for (let index = 0; index < count; index++) {
    await before?.();
    const since = performance.now();
    await work();
    figures.push(performance.now() - since);
  }
  return median(figures);
}

async function startChild(directory: string, past: number, pending: number): Promise<Server> {
  const program = fileURLToPath(new URL("approvals-child.js", import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify({ directory, past, pending })], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const kill = () => child.kill();
  process.once("exit", kill);
  const closed = once(child, "close");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = (await lines.next()) as { value?: string };
  if (value === undefined) throw new Error("the server ended before it began");
  const { url, token, actionIds } = JSON.parse(value) as { url: string; token: string; actionIds: string[] };
  const transport = networkTransport(url, token);
  return {
    approvals: createClient(ApprovalsService, transport),
    system: createClient(SystemService, transport),
    actionIds,
    medianMillisOf: async (method) => {
      const line = new RegExp(`^pincer_rpc_seconds{quantile="0.5",method="${method}"} (.+)$`, "m");
      return Number(line.exec(await metricsOf(url))?.[1]) * 1_000;
    },
    stop: async () => {
      child.stdin.end();
      await closed;
      process.off("exit", kill);
    },
  };
}
