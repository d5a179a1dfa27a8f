import { expect, test } from "@jest/globals";
import { cpSync, renameSync, rmSync } from "node:fs";
import { lockForServing, logFile } from "../../../infra/event-log/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import { said } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

test.each([
  ["deleted", (file: string) => rmSync(file)],
  ["moved away", (file: string) => renameSync(file, `${file}.old`)],
  [
    "replaced by a copy",
    (file: string) => {
      cpSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
  ],
])("a log whose file was %s acknowledges nothing more", async (_how, lose) => {
  const log = bench.log();
  await record(log, appendOf(write("s", "any", said("one"))));
  const failed = new Promise<unknown>((resolve) => log.grown.subscribe({ error: resolve }));
  lose(logFile(bench.path));
  expect(await failed).toMatchObject({ trouble: "failed", file: logFile(bench.path) });
  await expect(log.append(appendOf(write("s", "any", said("two"))))).rejects.toMatchObject({ trouble: "failed" });
});

test("one server at a time serves a directory", () => {
  const release = lockForServing(bench.path);
  expect(() => lockForServing(bench.path)).toThrow("another server is running on this directory");
  release();
  lockForServing(bench.path)();
});
