import { describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createOutput } from "../../../infra/cli/output.js";
import { projectionsRebuild } from "../../../infra/cli/projections.js";
import { readModelsFile } from "../../../infra/projector/index.js";
import { appendTo, openBackend } from "../../support/backend.js";
import { cli, jsonLines } from "../../support/cli.js";
import { open, say } from "../../support/conversation.js";
import { said } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** A thread and two messages through the commands; everything closed again. */
async function shortHistory(): Promise<string> {
  const backend = await openBackend(bench.path);
  await open(backend, "t1");
  for (const text of ["one", "two"]) await say(backend, "t1", text);
  backend.close();
  return bench.path;
}

describe("pincer projections", () => {
  test("list says how far each has come", async () => {
    const data = await shortHistory();
    const log = bench.log();
    await log.append(appendTo("t1", "t1", said("nobody has projected this yet")));
    const { stdout } = await cli(data, "--json", "projections", "list");
    const places = { version: 1, position: 3, behind: 1, state: "good" };
    expect(jsonLines(stdout)).toEqual(
      expect.arrayContaining([
        { projection: "threads", tables: "threads", ...places },
        { projection: "messages", tables: "messages", ...places },
      ]),
    );
  });

  test("list where nothing was ever built says so, and builds nothing", async () => {
    bench.log();
    const { code, stdout } = await cli(bench.path, "projections", "list");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^threads .* needs rebuild$/m);
    expect(existsSync(readModelsFile(bench.path))).toBe(false);
  });

  test.each([["list"], ["verify"]])("%s leaves a damaged file as it is: a server may be using it", async (command) => {
    const data = await shortHistory();
    const damaged = "not a database at all".repeat(500);
    writeFileSync(readModelsFile(data), damaged);
    const { code, stderr } = await cli(data, "projections", command);
    expect(code).toBe(1);
    expect(stderr).toContain("damaged");
    expect(stderr).toContain("the next start, or `pincer projections rebuild`, makes it anew");
    expect(readFileSync(readModelsFile(data), "utf8")).toBe(damaged);
  });

  test("rebuild brings back what was lost", async () => {
    const data = await shortHistory();
    writeFileSync(readModelsFile(data), "not a database at all".repeat(500));
    const { code, stderr } = await cli(data, "projections", "rebuild");
    expect(code).toBe(0);
    expect(stderr).toContain("damaged");
    expect((await cli(data, "projections", "verify")).code).toBe(0);
  });

  test("verify prints the rows that differ, and fails", async () => {
    const data = await shortHistory();
    expect((await cli(data, "projections", "verify")).stdout).toContain("messages: no difference in 2 rows");
    const db = new Database(readModelsFile(data));
    db.exec("UPDATE messages SET content = 'forged' WHERE content = 'two'");
    db.close();
    const { code, stdout } = await cli(data, "--json", "projections", "verify", "messages");
    expect(code).toBe(1);
    expect(jsonLines(stdout)).toEqual([
      {
        ok: false,
        projection: "messages",
        table: "messages",
        position: 3,
        rows: 2,
        served_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        rebuilt_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        differences: [
          {
            served: expect.objectContaining({ content: "forged" }),
            rebuilt: expect.objectContaining({ content: "two" }),
          },
        ],
      },
    ]);
  });

  test("verify prints rows so that they cannot speak to the terminal", async () => {
    const data = await shortHistory();
    const db = new Database(readModelsFile(data));
    db.prepare("UPDATE messages SET content = ?").run("\u009b2J\u202e");
    db.close();
    const { stdout } = await cli(data, "projections", "verify", "messages");
    expect(stdout).toContain(String.raw`\u009b2J\u202e`);
    expect(stdout).not.toMatch(/[^\P{C}\n]/u);
  });

  test("a rebuild that is stopped says that nothing is lost", async () => {
    const output = createOutput(true, () => undefined);
    const context = { dataDirectory: await shortHistory(), output, signal: AbortSignal.abort() };
    await expect(projectionsRebuild(context, [])).rejects.toThrow("stopped; the old tables still serve");
    expect((await cli(context.dataDirectory, "projections", "verify")).code).toBe(0);
  });

  test("a projection that is not there is bad usage", async () => {
    const { code, stderr } = await cli(await shortHistory(), "projections", "rebuild", "nonsense");
    expect(code).toBe(2);
    expect(stderr).toContain('there is no projection "nonsense"; there are ');
  });
});
