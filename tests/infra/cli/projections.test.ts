import { describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commitMessage } from "../../../commands/threads/commit-message.js";
import { createThread } from "../../../commands/threads/create-thread.js";
import { MessageRole } from "../../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { fromOwner, openBackend } from "../../support/backend.js";
import { cli, jsonLines } from "../../support/cli.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const midnight = Date.UTC(2026, 0, 1);

/** A thread and two messages, an hour apart, through the commands; everything closed again. */
async function shortHistory(): Promise<string> {
  const backend = await openBackend(bench.path);
  await createThread(backend, { threadId: "t1", channel: "ios", at: midnight, provenance: fromOwner });
  for (const [hour, text] of ["one", "two"].entries()) {
    const command = { threadId: "t1", role: MessageRole.USER, text, clientMessageId: text, provenance: fromOwner };
    await commitMessage(backend, { ...command, at: midnight + hour * 3_600_000 });
  }
  backend.close();
  return bench.path;
}

describe("pincer projections", () => {
  test("list says how far each has come", async () => {
    const { stdout } = await cli(await shortHistory(), "--json", "projections", "list");
    expect(jsonLines(stdout)).toMatchObject([
      { projection: "threads", position: 3, state: "good" },
      { projection: "messages", position: 3, state: "good" },
    ]);
  });

  test("rebuild brings back what was lost", async () => {
    const data = await shortHistory();
    writeFileSync(join(data, "read-models.db"), "not a database at all".repeat(500));
    const { code, stderr } = await cli(data, "projections", "rebuild");
    expect(code).toBe(0);
    expect(stderr).toContain("damaged");
    expect((await cli(data, "projections", "verify")).code).toBe(0);
  });

  test("verify prints the rows that differ, and fails", async () => {
    const data = await shortHistory();
    expect((await cli(data, "projections", "verify")).stdout).toContain("messages: no difference in 2 rows");
    const db = new Database(join(data, "read-models.db"));
    db.exec("UPDATE messages SET content = 'forged' WHERE content = 'two'");
    db.close();
    const { code, stdout } = await cli(data, "--json", "projections", "verify", "messages");
    expect(code).toBe(1);
    expect(jsonLines(stdout)).toMatchObject([
      { table: "messages", differences: [{ served: { content: "forged" }, rebuilt: { content: "two" } }] },
    ]);
  });

  test("a projection that is not there is bad usage", async () => {
    const { code, stderr } = await cli(await shortHistory(), "projections", "rebuild", "nonsense");
    expect(code).toBe(2);
    expect(stderr).toContain("there are threads, messages");
  });
});

describe("pincer at", () => {
  test.each([
    ["0", []],
    ["2", ["one"]],
    ["3", ["one", "two"]],
    ["99", ["one", "two"]],
    ["2026-01-01T00:30:00Z", ["one"]],
    ["2026-01-01T02:00:00+01:00", ["one", "two"]],
    ["2025-12-31T23:59:59Z", []],
  ])("at %s the messages were %j", async (when, texts) => {
    const { stdout } = await cli(await shortHistory(), "--json", "at", when, "messages", "--thread", "t1");
    expect(jsonLines(stdout)).toEqual(texts.map((content): unknown => expect.objectContaining({ content })));
  });

  test("threads can be asked for, too", async () => {
    const { stdout } = await cli(await shortHistory(), "--json", "at", "2", "threads");
    expect(jsonLines(stdout)).toMatchObject([{ thread_id: "t1", message_count: 1 }]);
  });

  test.each([
    [["at", "yesterday", "threads"]],
    [["at", "2026-01-01T00:00:00", "threads"]],
    [["at", "1", "messages"]],
    [["at", "1", "nonsense"]],
  ])("%j is bad usage", async (args) => {
    expect((await cli(await shortHistory(), ...args)).code).toBe(2);
  });
});
