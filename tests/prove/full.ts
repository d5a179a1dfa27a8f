import { tmpdir } from "node:os";
import type { FullOrders, FullRound } from "./full-child.js";
import type { Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { canRun, spawnChild } from "./spawned.js";
import { Tally } from "./tally.js";

const diskSize = "24m";
/** A mount that only the child sees, and that is gone with it. */
const unshared = ["unshare", "--user", "--map-root-user", "--mount"];
const mountThenRun = `mount -t tmpfs -o size=${diskSize},mode=0700 tmpfs "$0" && exec "$@"`;
const roundsPerChild = 10;

export const logFull: Proof = {
  name: "log.full",
  promise: "a full disk degrades and recovers",
  sizes: { small: 5, full: 100 },
  unavailable: () =>
    canRun([...unshared, "sh", "-c", mountThenRun, tmpdir(), "true"])
      ? null
      : "a small file system cannot be mounted here",
  run: async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    for (let done = 0; done < n; done += roundsPerChild) {
      await fillDisks(Math.min(roundsPerChild, n - done), seed + done, tally);
    }
    return tally.finding();
  },
  control: null,
};

async function fillDisks(rounds: number, seed: number, tally: Tally): Promise<void> {
  await withDirectory(async (disk) => {
    const orders: FullOrders = { disk, seed, rounds };
    const wrapper = [...unshared, "sh", "-c", mountThenRun, disk];
    const { code, lines, stderr } = await spawnChild("full-child", orders, wrapper).ended;
    for (const line of lines) {
      const { problem, acknowledged, refused, hindered, projectorStopped } = JSON.parse(line) as FullRound;
      tally.case(problem);
      tally.add("acknowledged", acknowledged);
      tally.add("refused", refused);
      tally.add("read models tried again", hindered);
      if (projectorStopped !== null) tally.add(`projector stopped (${projectorStopped})`, 1);
    }
    if (code !== 0) tally.case(`the child ended with ${code}: ${stderr}`);
  });
}
