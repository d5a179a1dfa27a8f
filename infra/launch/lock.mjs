import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";

const holdMillisMax = 30 * 60_000;
const pollMillis = 100;

/** Runs the work while no other process does. The lock of a process that died is taken over. */
export async function withLock(file, work) {
  const me = `${process.pid}-${Date.now()}`;
  mkdirSync(dirname(file), { recursive: true });
  for (let waited = 0; !createExclusively(file, me); waited++) {
    if (waited === 1) process.stderr.write(`pincer: waiting for another launch to finish (${file})\n`);
    const holder = read(file);
    // Many may see that a holder is dead, but only one can create its tombstone, and so only one removes its lock:
    // without that, the slower of two could remove the lock that the faster has just taken.
    if (isDead(holder) && createExclusively(`${file}.${holder}`, me)) rmSync(file);
    else await setTimeout(pollMillis);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function createExclusively(file, content) {
  try {
    writeFileSync(file, content, { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}

function isDead(holder) {
  const [pid, since] = holder.split("-").map(Number);
  if (!pid || !since) return false; // Just created or just released.
  // A restarted container gives out the same process ids again.
  if (pid === process.pid || Date.now() - since > holdMillisMax) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}
