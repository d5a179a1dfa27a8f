import { approveAction } from "../../commands/approvals/decide-action.js";
import { fromOwner } from "../support/backend.js";
import type { OutletFault } from "../support/outlet.js";
import { randomFrom, type Random } from "../support/random.js";
import { checkKilledServers } from "./effect-once-killed.js";
import { Life } from "./effect-once-life.js";
import { proposeTo, type Proposed } from "./effect-once-proposed.js";
import { Provider, providerTool } from "./effect-once-provider.js";
import { FastTime } from "./effect-once-time.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";

/** One in so many cases is a real server that is killed; the others end at one exact moment, in this process. */
const casesPerKill = 12;
const actionsMax = 3;
const faultsMax = 3;
const deathsMax = 3;
/** An execution has about as many moments at which it can be cut: before and after each thing that it writes or does. */
const momentsMax = 16;
const livesMax = 10;

const faults: readonly OutletFault[] = [
  "none",
  "none",
  "refuse",
  "fail_before",
  "fail_after",
  "reset_before",
  "reset_after",
  "hang_before",
  "hang_after",
  "forget",
  "late",
  "late",
  "late",
];

/**
 * A twelfth of the cases kill a real server with -9 at a random time, with a provider behind HTTP. In the others commands
 * and executor run in this process, and from a chosen moment on nothing of them goes on: every step is hit, each with
 * every fault of the provider, which a kill by the clock does not do. In both the next one starts on the same files.
 */
export const effectOnce: Proof = {
  name: "effect.once",
  promise: "at most one effect per approval",
  sizes: { small: 8, full: 504 },
  run: async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    const kills = Math.ceil(n / casesPerKill);
    await checkEnds(n - kills, seed, false, tally);
    await checkKilledServers(kills, seed, tally);
    return tally.finding();
  },
  control: reconcileOff(),
};

/** Whatever has no outcome counts as not done, and is done again. */
function reconcileOff(): Check {
  return async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    await checkEnds(Math.min(n, 100), seed, true, tally);
    return tally.finding();
  };
}

async function checkEnds(n: number, seed: number, isReconcileOff: boolean, tally: Tally): Promise<void> {
  for (let index = 0; index < n; index++) {
    const random = randomFrom(seed * 10_007 + index);
    const firstEnd = 1 + (index % momentsMax);
    const problem = await withDirectory((path) => endAndGoOn(path, firstEnd, random, isReconcileOff, tally));
    tally.case(problem === null ? null : `case ${index}: ${problem}`);
  }
}

async function endAndGoOn(
  directory: string,
  firstEnd: number,
  random: Random,
  isReconcileOff: boolean,
  tally: Tally,
): Promise<string | null> {
  const honoursKeys = random.chance(50) && !isReconcileOff; // It would make up for what is off.
  const provider = new Provider(honoursKeys);
  const time = new FastTime();
  const ends = [firstEnd, ...Array.from({ length: random.below(deathsMax) }, () => 1 + random.below(momentsMax))];
  const actions: Proposed[] = [];
  const approved = new Set<string>();
  let current: Life | null = null;
  const isLeaseOver = (actionId: string) => current?.isLeaseOver(actionId) ?? true;
  for (let number = 0; number < livesMax; number++) {
    const life = await Life.begin(directory, {
      time,
      tools: (pass) => [providerTool(provider, { pass, isReconcileOff, isLeaseOver })],
      diesAt: ends[number] ?? 0,
    });
    current = life;
    try {
      if (actions.length === 0) {
        const count = 1 + random.below(actionsMax);
        for (let at = 0; at < count; at++) actions.push(await proposeTo(life, `action-${at}`, time));
        for (const { plan } of actions) provider.faults.set(plan.idempotencyKey, someFaults(random));
      }
      life.start();
      await life.orDeath(approveAll(life, actions, approved, time));
      await life.settled(actions.map(({ actionId }) => actionId));
      if (life.diedAt === null) return judge(life, actions, approved, provider, tally);
      tally.add(`ended ${life.diedAt}`, 1);
    } finally {
      await life.end();
    }
  }
  return "it never came to an end";
}

/** The owner's phone asks again until it is answered; once it was, it does not. */
async function approveAll(life: Life, actions: readonly Proposed[], approved: Set<string>, { clock }: FastTime) {
  for (const { actionId } of actions) {
    if (approved.has(actionId)) continue;
    const command = { actionId, seen: null, at: clock.now(), provenance: fromOwner };
    const { outcome } = await approveAction(life.ports, command);
    if (outcome === "refused") throw new Error("an approval was refused");
    approved.add(actionId);
  }
}

/** What was done, and whether the log tells the same. */
function judge(
  life: Life,
  actions: readonly Proposed[],
  approved: ReadonlySet<string>,
  provider: Provider,
  tally: Tally,
): string | null {
  const problems: string[] = [];
  tally.add("denied, then done", provider.denials);
  for (const { actionId, plan } of actions) {
    const action = life.action(actionId);
    const done = provider.ledger.filter(({ key }) => key === plan.idempotencyKey);
    const asApproved = done.every(({ to, text }) => to === plan.args.to && text === plan.args.text);
    const state = action.status === "approved" ? action.execution.state : action.status;
    tally.add("actions", 1);
    tally.add("done", Math.min(1, done.length));
    tally.add("duplicates", Math.max(0, done.length - 1));
    tally.add("left unknown", state === "unknown" ? 1 : 0);
    const isLost = approved.has(actionId) && !["executed", "unknown", "failed"].includes(state);
    tally.add("lost approvals", isLost ? 1 : 0);
    if (done.length > 1) problems.push(`${actionId} was done ${done.length} times`);
    if (!asApproved) problems.push(`${actionId} was done otherwise than approved`);
    if (isLost) problems.push(`the approval of ${actionId} is lost: it is ${state}`);
    if (state === "executed" && done.length === 0) problems.push(`${actionId} counts as done, and is not`);
    if (state === "failed" && done.length > 0) problems.push(`${actionId} counts as not done, and is`);
  }
  return problems[0] ?? null;
}

function someFaults(random: Random): OutletFault[] {
  return Array.from({ length: random.below(faultsMax + 1) }, () => random.pick(faults));
}
