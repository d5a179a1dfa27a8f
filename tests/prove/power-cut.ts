import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../support/random.js";
import type { Step } from "./disk-trace.js";

const sectorBytes = 512;

type Change = Extract<Step, { does: "write" | "truncate" }>;

interface File {
  /** What is on the disk for certain. */
  synced: Buffer;
  /** What the process did since; after a power cut, any part of it may be there or not. */
  pending: Change[];
}

/** A disk that promises only what POSIX makes it promise: what was synced is there, all else as it likes. */
export class Disk {
  readonly #files = new Map<number, File>();
  /** Names on the disk for certain, and changes since the directory was synced. */
  readonly #names = new Map<string, number>();
  #pendingNames: Extract<Step, { does: "create" | "unlink" }>[] = [];

  do(step: Step): void {
    switch (step.does) {
      case "create":
        this.#files.set(step.inode, { synced: Buffer.alloc(0), pending: [] });
        this.#pendingNames.push(step);
        break;
      case "unlink":
        this.#pendingNames.push(step);
        break;
      case "write":
      case "truncate":
        this.#file(step.inode).pending.push(step);
        break;
      case "sync": {
        const file = this.#file(step.inode);
        file.synced = withChanges(file, () => Number.MAX_SAFE_INTEGER);
        file.pending = [];
        break;
      }
      case "syncDirectory":
        for (const change of this.#pendingNames) rename(this.#names, change);
        this.#pendingNames = [];
        break;
      case "fail":
        // Linux calls pages clean that it could not write: no later sync writes them, and it succeeds.
        if (/^f(data)?sync/.test(step.call) && step.file !== "") this.#file(step.inode).pending = [];
        break;
      case "say":
        break;
    }
  }

  /** Writes what a power cut now could leave into a directory. */
  cutPower(directory: string, random: Random): void {
    const names = new Map(this.#names);
    // A journal keeps the order of names: some number of the first changes are there.
    const namesKept = random.below(this.#pendingNames.length + 1);
    for (const change of this.#pendingNames.slice(0, namesKept)) rename(names, change);
    const keepPercent = random.pick([0, 0, 20, 50, 90, 100]);
    for (const [name, inode] of names) {
      // The wal-index is memory that happens to have a name; SQLite makes it anew.
      if (name.endsWith("-shm")) continue;
      writeFileSync(join(directory, name), this.#survivor(this.#file(inode), keepPercent, random), { mode: 0o600 });
    }
  }

  /** Each sector holds what it held at some moment since the last sync, independently of its neighbours. */
  #survivor(file: File, keepPercent: number, random: Random): Buffer {
    const touches = new Map<number, number>();
    for (const change of file.pending) {
      if (change.does !== "write") continue;
      for (const sector of sectorsOf(change)) touches.set(sector, (touches.get(sector) ?? 0) + 1);
    }
    const kept = new Map(
      [...touches].map(([sector, count]) => [sector, random.chance(keepPercent) ? 1 + random.below(count) : 0]),
    );
    return withChanges(
      file,
      (sector) => kept.get(sector) ?? 0,
      () => random.chance(keepPercent),
    );
  }

  #file(inode: number): File {
    const file = this.#files.get(inode);
    if (file === undefined) throw new Error(`the trace never opened file ${inode}`);
    return file;
  }
}

/** The file with the first `keptOf(sector)` writes to each sector. */
function withChanges(
  { synced, pending }: File,
  keptOf: (sector: number) => number,
  keepsTruncation: () => boolean = () => true,
): Buffer {
  const end = Math.max(synced.length, ...pending.map((change) => (change.does === "write" ? endOf(change) : 0)));
  const content = Buffer.alloc(end);
  synced.copy(content);
  let sizeBytes = synced.length;
  const seen = new Map<number, number>();
  for (const change of pending) {
    if (change.does === "truncate") {
      if (!keepsTruncation()) continue;
      content.fill(0, Math.min(change.sizeBytes, end));
      sizeBytes = change.sizeBytes;
      continue;
    }
    for (const sector of sectorsOf(change)) {
      const count = (seen.get(sector) ?? 0) + 1;
      seen.set(sector, count);
      if (count > keptOf(sector)) continue;
      const from = Math.max(change.offset, sector * sectorBytes);
      const to = Math.min(endOf(change), (sector + 1) * sectorBytes);
      change.bytes.copy(content, from, from - change.offset, to - change.offset);
      sizeBytes = Math.max(sizeBytes, to);
    }
  }
  if (sizeBytes <= end) return content.subarray(0, sizeBytes);
  return Buffer.concat([content, Buffer.alloc(sizeBytes - end)]);
}

function endOf({ offset, bytes }: Extract<Step, { does: "write" }>): number {
  return offset + bytes.length;
}

function* sectorsOf(write: Extract<Step, { does: "write" }>): Generator<number> {
  for (let sector = Math.floor(write.offset / sectorBytes); sector * sectorBytes < endOf(write); sector++) yield sector;
}

function rename(names: Map<string, number>, { does, file, inode }: Extract<Step, { does: "create" | "unlink" }>): void {
  if (does === "create") names.set(file, inode);
  else names.delete(file);
}
