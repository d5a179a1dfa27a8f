import { describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { appendTo } from "../../support/backend.js";
import { cli, jsonLines, startCli } from "../../support/cli.js";
import { said, threadCreated } from "../../support/facts.js";
import { fromOwner } from "../../support/backend.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** A thread with three messages, the second of them erased: four events and the record of the erasure. */
async function shortHistory(): Promise<string> {
  const log = bench.log();
  await log.append(appendTo("thread-t1", "t1", threadCreated));
  for (const text of ["one", "two", "three"]) await log.append(appendTo(`message-${text}`, "t1", said(text)));
  await log.erase({ occurredAt: 0, ranges: [{ first: 3, last: 3 }], reason: "forget", provenance: fromOwner });
  return bench.path;
}

describe("pincer log", () => {
  test("tail prints every event in order, and says which were erased", async () => {
    const { code, stdout } = await cli(await shortHistory(), "log", "tail");
    const lines = stdout.trimEnd().split("\n");
    expect(code).toBe(0);
    expect(lines).toHaveLength(5);
    expect(lines[1]).toMatch(/^ +2 .* messageCommitted .*"text":"one"/);
    expect(lines[2]).toMatch(/^ +3 .* messageCommitted +\(erased\)$/);
  });

  test("tail of a thread begins after a sequence, and prints JSON when asked", async () => {
    const { stdout } = await cli(await shortHistory(), "--json", "log", "tail", "--thread", "t1", "--from", "3");
    expect(jsonLines(stdout)).toMatchObject([
      { position: 4, sequence: 4, event: { messageCommitted: { text: "three" } } },
    ]);
  });

  test("tail --follow goes on with what another process appends, and ends on Ctrl-C", async () => {
    const log = bench.log();
    await log.append(appendTo("thread-t1", "t1", threadCreated));
    const child = startCli(bench.path, ["--json", "log", "tail", "--follow"]);
    const positions: number[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      positions.push((JSON.parse(line) as { position: number }).position);
      if (positions.length < 4) await log.append(appendTo("s", "t1", said(`after ${positions.length}`)));
      else child.kill("SIGINT");
    }
    await once(child, "close");
    expect(positions).toEqual([1, 2, 3, 4]);
    expect(child.exitCode).toBe(0);
  });

  test.each([[["log", "tail"]], [["log", "show", "1"]], [["--json", "log", "show", "1"]]])(
    "text from outside cannot speak to the terminal: %j",
    async (args) => {
      await bench.log().append(appendTo("s", "t1", said("\u001b[2J\u009b\u202e")));
      const { stdout } = await cli(bench.path, ...args);
      expect(stdout).toContain(String.raw`\u001b[2J\u009b\u202e`);
      expect(stdout).not.toMatch(/[^\P{C}\n]/u); // Nothing but what can be seen, and ends of lines.
    },
  );

  test("show prints one event with its place in the chain", async () => {
    const { stdout } = await cli(await shortHistory(), "--json", "log", "show", "2");
    expect(jsonLines(stdout)).toMatchObject([{ position: 2, type: "messageCommitted", version: 1 }]);
    expect(stdout).toMatch(/"hash":"[0-9a-f]{64}"/);
  });

  test("stats count what is there", async () => {
    const { stdout } = await cli(await shortHistory(), "--json", "log", "stats");
    expect(jsonLines(stdout)).toMatchObject([{ events: 5, threads: 1, erased: 1, types: expect.any(Array) }]);
  });

  test("verify prints the head, and a later verify takes it", async () => {
    const data = await shortHistory();
    const first = await cli(data, "--json", "log", "verify");
    const [{ head }] = jsonLines(first.stdout) as [{ head: string }];
    expect(first.code).toBe(0);
    expect((await cli(data, "log", "verify", "--head", head)).code).toBe(0);

    const other = await cli(data, "--json", "log", "verify", "--head", `6:${"0".repeat(64)}`);
    expect(other.code).toBe(1);
    expect(jsonLines(other.stdout)).toMatchObject([{ ok: false, problem: { position: 6 } }]);
  });

  test("an export is verified without the database, and a changed one is not", async () => {
    const data = await shortHistory();
    const file = join(data, "export.jsonl");
    expect((await cli(data, "log", "export", "--out", file)).code).toBe(0);
    expect((await cli("/nonexistent", "log", "verify", "--file", file)).code).toBe(0);
    const again = await cli(data, "log", "export", "--out", file);
    expect([again.code, again.stderr]).toEqual([1, `pincer: ${file} exists already; an export never overwrites\n`]);

    writeFileSync(file, readFileSync(file, "utf8").replace('"stream":"message-one"', '"stream":"message-0ne"'));
    const changed = await cli(data, "log", "verify", "--file", file);
    expect(changed.code).toBe(1);
    expect(changed.stdout).toContain("PROBLEM at position 2");
  });

  test.each([
    [["log", "show", "two"], 2],
    [["log", "show", "9007199254740993"], 2],
    [["log", "verify", "--head", "nonsense"], 2],
    [["log", "tail", "--from", "-1"], 2],
    [["log", "nonsense"], 2],
    [["--nonsense"], 2],
    [["log", "export"], 2],
    [["log", "show", "99"], 1],
    [["--help"], 0],
  ])("%j ends with exit code %d", async (args, code) => {
    expect((await cli(await shortHistory(), ...args)).code).toBe(code);
  });

  test("where there is no log, it says so and makes none", async () => {
    const { code, stderr } = await cli(bench.path, "log", "verify");
    expect(code).toBe(1);
    expect(stderr).toContain("log.db: there is no log here");
    expect(existsSync(join(bench.path, "log.db"))).toBe(false);
  });

  test("a file that is no log is named and left as it is", async () => {
    const file = join(bench.path, "log.db");
    appendFileSync(file, "These are the wrong words.".repeat(100));
    const before = readFileSync(file);
    const { code, stderr } = await cli(bench.path, "log", "tail");
    expect(code).toBe(1);
    expect(stderr).toContain(file);
    expect(readFileSync(file)).toEqual(before);
  });
});
