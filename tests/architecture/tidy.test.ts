import { describe, expect, test } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";

const rootEntries = [
  ...["proto", "domain", "commands", "projections", "read-models", "infra", "tests", "docs"],
  ...["README.md", "package.json", "package-lock.json", "tsconfig.json"],
  ...["eslint.config.js", "jest.config.js", "knip.json"],
];
const rooms = [
  ...["threads", "approvals", "jobs", "schedules", "devices", "notifications", "memory", "budgets", "audit"],
  ...["accounts", "shared", "ports"],
];
const linesMax = 300;

const files = execFileSync(
  "git",
  // In a container the tree often belongs to another user, which git calls unsafe; reading names is not.
  ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
  { encoding: "utf8" },
)
  .split("\0")
  .filter((path) => path !== "" && existsSync(path));
// What a tool generates is not ours to shape, and neither is the sketch, which the protocol document dictates.
const written = files.filter((path) => !/^(proto\/gen|tests\/proto\/sketch)\/|package-lock\.json$|\.binpb$/.test(path));

describe("the house is tidy:", () => {
  test("the root holds what it is known to hold", () => {
    const entries = new Set(files.map((path) => path.split("/")[0]!));
    expect([...entries].filter((name) => !name.startsWith(".") && !rootEntries.includes(name))).toEqual([]);
  });

  test("every floor has the same rooms", () => {
    const strange = files.filter((path) => {
      const room = /^(?:domain|commands|projections|read-models)\/([^/]+)\//.exec(path)?.[1];
      return room !== undefined && !rooms.includes(room);
    });
    expect(strange).toEqual([]);
  });

  test("a file can be read at once", () => {
    const long = written.filter((path) => textOf(path).split("\n").length > linesMax + 1);
    expect(long).toEqual([]);
  });

  test("names are in kebab-case", () => {
    const kebab = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/;
    // Protocol buffers have their own convention, which buf holds.
    const ours = written.filter((path) => !path.endsWith(".proto") && basename(path) !== "README.md");
    expect(ours.filter((path) => !path.split("/").every((name) => kebab.test(name)))).toEqual([]);
  });

  test("names say what a thing is", () => {
    expect(written.filter((path) => /(^|[/.-])(utils?|helpers?|managers?)([/.-]|$)/.test(path))).toEqual([]);
  });

  test("nothing is left for later in a comment", () => {
    const postponed = /\b(TO[D]O|FIX[M]E)\b/; // Spelled so that this line does not find itself.
    expect(written.filter((path) => postponed.test(textOf(path)))).toEqual([]);
  });
});

function textOf(path: string): string {
  return readFileSync(path, "utf8");
}
