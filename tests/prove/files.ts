import type { FilesOrders, FoundFile } from "./files-child.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { spawnChild } from "./spawned.js";
import { Tally } from "./tally.js";

/** The most permissive first. */
const umasks = [0, 0o022, 0o002, 0o027, 0o077, 0o007];
const expectedSteps = ["start", "checkpoint", "stop", "restart", "rebuild", "verify", "export", "erasure"];

export const filesPrivate: Proof = {
  name: "files.private",
  promise: "files are private",
  sizes: { small: 1, full: umasks.length },
  run: checkModes({ careless: false }),
  control: (_n, seed, onProgress) => checkModes({ careless: true })(1, seed, onProgress),
};

/** One case is one file after one step. */
function checkModes({ careless }: { careless: boolean }): Check {
  return async (n, _seed, onProgress) => {
    const tally = new Tally(onProgress);
    for (const umask of umasks.slice(0, n)) {
      await withDirectory(async (root) => {
        const orders: FilesOrders = { root, umask, careless };
        const { code, lines, stderr } = await spawnChild("files-child", orders).ended;
        if (code !== 0) throw new Error(`the child ended with ${code}: ${stderr}`);
        const files = lines.map((line) => JSON.parse(line) as FoundFile);
        const missing = expectedSteps.find((step) => !files.some(({ after }) => after === step));
        if (missing !== undefined) throw new Error(`nothing was seen after ${missing}`);
        for (const file of files) tally.case(findWrongMode(file, umask));
      });
    }
    tally.add("umasks", Math.min(n, umasks.length));
    return tally.finding();
  };
}

function findWrongMode({ after, file, mode, isDirectory }: FoundFile, umask: number): string | null {
  if (mode === (isDirectory ? 0o700 : 0o600)) return null;
  return `after ${after} under umask ${umask.toString(8)}, ${file} has mode ${mode.toString(8)}`;
}
