import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { randomFrom, type Random } from "../support/random.js";
import { inspectBackend, readAcknowledgements, type Acknowledgement } from "./acknowledged.js";
import type { AppendOrders } from "./append-child.js";
import { inLanes } from "./lanes.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { spawnChild } from "./spawned.js";
import { Tally } from "./tally.js";
import type { Variant } from "./variants.js";

const callersMax = 8;
/** More than any child will live to make. */
const appendsPerCaller = 5_000;

export const logKill: Proof = {
  name: "log.kill",
  promise: "acknowledged survives kill -9",
  sizes: { small: 20, full: 300 },
  run: checkKills("sound"),
  control: (n, seed, onProgress) => checkKills("early")(Math.ceil(n / 2), seed, onProgress),
};

function checkKills(variant: Variant): Check {
  return (n, seed, onProgress) =>
    withDirectory(async (root) => {
      const tally = new Tally(onProgress);
      await inLanes(n, (lane) => {
        let home = { path: join(root, `${lane}`), acknowledged: [] as Acknowledgement[] };
        return async (kill) => {
          const random = randomFrom(seed * 1_000 + kill);
          // Mostly the same log lives on; now and then a new one, so that also its first moments are hit.
          if (random.chance(25)) home = { path: join(root, `${lane}-${kill}`), acknowledged: [] };
          tally.case(await killOnce(home, `k${kill}`, variant, random, tally));
        };
      });
      return tally.finding();
    });
}

async function killOnce(
  home: { readonly path: string; readonly acknowledged: Acknowledgement[] },
  name: string,
  variant: Variant,
  random: Random,
  tally: Tally,
): Promise<string | null> {
  const orders: AppendOrders = {
    directory: home.path,
    variant,
    name,
    seed: random.below(2 ** 20),
    callers: 1 + random.below(callersMax),
    appendsPerCaller,
    waits: false,
  };
  const child = spawnChild("append-child", orders);
  // Sometimes while it is still opening, mostly in the middle of its work.
  if (random.chance(15)) await pause(random.below(400));
  else await child.said(1 + random.below(80)).then(() => pause(random.below(4)));
  child.kill();
  const { code, lines, stderr } = await child.ended;
  if (code !== null) return `${name}: the child ended by itself with ${code}: ${stderr}`;

  const acknowledged = readAcknowledgements(lines);
  home.acknowledged.push(...acknowledged);
  tally.add("acknowledged", acknowledged.length);
  const { problem, lost } = await inspectBackend(home.path, home.acknowledged);
  tally.add("lost", lost);
  if (lost > 0) home.acknowledged.length = 0; // Counted once.
  return problem === null ? null : `${name}: ${problem}`;
}
