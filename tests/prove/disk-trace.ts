import { dirname, relative } from "node:path";
import { canRun } from "./spawned.js";

/** What a process did to the files of one directory, and said on its standard output, in order. */
export type Step =
  | { readonly does: "create" | "unlink"; readonly file: string; readonly inode: number }
  | {
      readonly does: "write";
      readonly file: string;
      readonly inode: number;
      readonly offset: number;
      readonly bytes: Buffer;
    }
  | { readonly does: "truncate"; readonly file: string; readonly inode: number; readonly sizeBytes: number }
  | { readonly does: "sync"; readonly file: string; readonly inode: number }
  | { readonly does: "syncDirectory" }
  | { readonly does: "say"; readonly lines: readonly string[] }
  /** A call that failed: the disk's trouble, real or injected. */
  | { readonly does: "fail"; readonly file: string; readonly inode: number; readonly call: string };

const calls = ["openat", "pwrite64", "write", "fsync", "fdatasync", "ftruncate", "unlink"];
/** What SQLite could use on another system. Nothing here replays them, so a trace that has them is refused. */
const unexpected = ["pwritev", "writev", "rename", "renameat", "renameat2", "unlinkat", "fallocate", "truncate"];
const stringBytesMax = 16 * 1024 * 1024;

export function straceUnavailable(): string | null {
  return canRun(["strace", "-o", "/dev/null", "-e", "inject=fsync:error=EIO:when=1", "true"])
    ? null
    : "strace is missing, or may not trace here";
}

/**
 * The command that records its child. Only the main thread is followed, because all of SQLite's work and all that a
 * child says happens there; so lines are never interleaved.
 */
export function recorder(traceFile: string, ...faults: string[]): string[] {
  const traced = `trace=${[...calls, ...unexpected].join()}`;
  const options = ["-e", traced, "-e", "signal=none", ...faults.flatMap((fault) => ["-e", fault])];
  return ["strace", "-o", traceFile, "-xx", "-s", String(stringBytesMax), ...options];
}

const linePattern = /^(?<call>\w+)\((?<args>.*)\)\s+= (?<result>-?\d+)(?<note>.*)$/;

export function parseTrace(trace: string, directory: string): Step[] {
  const steps: Step[] = [];
  const directoryOf = new DirectoryOfTrace(directory);
  let said = "";
  for (const line of trace.split("\n")) {
    const { call, args, result, note } = linePattern.exec(line)?.groups ?? {};
    if (call === undefined || args === undefined) continue;
    if (call === "write") {
      if (!args.startsWith("1,") || Number(result) < 0) continue;
      const lines = (said + textIn(args)).split("\n");
      said = lines.pop() ?? "";
      steps.push({ does: "say", lines });
      continue;
    }
    const step = directoryOf.follow(call, args, Number(result), note ?? "");
    if (step !== null) steps.push(step);
  }
  return steps;
}

/** Knows which descriptor is which file, as the traced process did. */
class DirectoryOfTrace {
  readonly #open = new Map<number, { readonly file: string; readonly inode: number }>();
  readonly #inodes = new Map<string, number>();
  #inodeCount = 0;

  constructor(private readonly directory: string) {}

  follow(call: string, args: string, result: number, note: string): Step | null {
    if (call === "openat") return this.#opened(args, result);
    if (call === "unlink") return this.#unlinked(args, result);
    const found = this.#open.get(Number.parseInt(args));
    if (found === undefined) {
      if (unexpected.includes(call) && textIn(args).startsWith(this.directory)) throw new Error(`unexpected ${call}`);
      return null;
    }
    if (result < 0) return { does: "fail", ...found, call: `${call} ${note.trim()}` };
    switch (call) {
      case "pwrite64": {
        const offset = Number(args.slice(args.lastIndexOf(",") + 1));
        return { does: "write", ...found, offset, bytes: bytesIn(args).subarray(0, result) };
      }
      case "ftruncate":
        return { does: "truncate", ...found, sizeBytes: Number(args.slice(args.lastIndexOf(",") + 1)) };
      case "fsync":
      case "fdatasync":
        return found.file === "" ? { does: "syncDirectory" } : { does: "sync", ...found };
      default:
        throw new Error(`unexpected ${call} of ${found.file}`);
    }
  }

  #opened(args: string, descriptor: number): Step | null {
    if (descriptor < 0) return null;
    this.#open.delete(descriptor);
    const path = textIn(args);
    const file = relative(this.directory, path);
    if (file !== "" && dirname(path) !== this.directory) return null;
    const known = this.#inodes.get(file);
    const inode = known ?? ++this.#inodeCount;
    this.#inodes.set(file, inode);
    this.#open.set(descriptor, { file, inode });
    return known === undefined && file !== "" ? { does: "create", file, inode } : null;
  }

  #unlinked(args: string, result: number): Step | null {
    const file = relative(this.directory, textIn(args));
    const inode = this.#inodes.get(file);
    if (result < 0 || inode === undefined) return null;
    this.#inodes.delete(file);
    return { does: "unlink", file, inode };
  }
}

/** The one string among a call's arguments, each byte written as \xNN. */
function bytesIn(args: string): Buffer {
  const start = args.indexOf('"') + 1;
  return Buffer.from(args.slice(start, args.lastIndexOf('"')).replaceAll("\\x", ""), "hex");
}

function textIn(args: string): string {
  return args.includes('"') ? bytesIn(args).toString("utf8") : "";
}
