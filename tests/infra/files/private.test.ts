import { expect, test } from "@jest/globals";
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { logFile } from "../../../infra/event-log/index.js";
import { readModelsFile } from "../../../infra/projector/index.js";
import { makePrivateDirectory } from "../../../infra/files/private.js";
import { openBackend } from "../../support/backend.js";
import { open } from "../../support/conversation.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8);
}

test("files that came from a backup, readable by everybody, are the owner's alone once opened", async () => {
  (await openBackend(bench.path)).close();
  for (const file of [logFile(bench.path), readModelsFile(bench.path)]) chmodSync(file, 0o644);
  await open(await bench.backend(), "t");
  for (const file of [logFile(bench.path), readModelsFile(bench.path)]) {
    for (const suffix of ["", "-wal", "-shm"]) expect(modeOf(file + suffix)).toBe("600");
  }
});

test("directories that had to be made on the way are the owner's alone, too", async () => {
  const made = join(bench.path, "a", "b", "c");
  bench.closing(await openBackend(made));
  for (const directory of [made, join(made, ".."), join(made, "..", "..")]) expect(modeOf(directory)).toBe("700");
});

test("a directory that cannot be made is an error, and not an endless wait", () => {
  expect(() => {
    makePrivateDirectory("/proc/nothing/here");
  }).toThrow();
});
