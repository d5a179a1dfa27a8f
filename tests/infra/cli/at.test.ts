import { describe, expect, test } from "@jest/globals";
import { commitMessage } from "../../../commands/threads/commit-message.js";
import { createThread } from "../../../commands/threads/create-thread.js";
import { listAt } from "../../../infra/cli/at.js";
import type { CliContext } from "../../../infra/cli/context.js";
import { createOutput } from "../../../infra/cli/output.js";
import { MessageRole } from "../../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { appendTo, fromOwner, openBackend } from "../../support/backend.js";
import { cli, jsonLines } from "../../support/cli.js";
import { threadCreated, titled } from "../../support/facts.js";
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

async function contextOf(): Promise<CliContext> {
  const output = createOutput(true, () => undefined);
  return { dataDirectory: await shortHistory(), output, signal: new AbortController().signal };
}

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

  test("what a thread is called cannot speak to the terminal", async () => {
    const log = bench.log();
    await log.append(appendTo("t1", "t1", threadCreated, titled("\u001b[2J\u009b\u202e\nnew line")));
    const { stdout } = await cli(bench.path, "at", "2", "threads");
    expect(stdout).toContain(String.raw`\u001b[2J\u009b\u202e\u000anew line`);
    expect(stdout).not.toMatch(/[^\P{C}\n]/u);
  });

  test.each([
    ["yesterday"],
    ["2026-01-01T00:00:00"],
    ["2026-02-30T00:00:00Z"],
    ["2026-01-01T24:00:00Z"],
    ["9999-12-31T23:59:59-12:00"],
    ["0000-01-01T00:00:00+12:00"],
    ["-1"],
  ])("%s is no moment", async (when) => {
    const listed = listAt(await contextOf(), when, "threads", {});
    await expect(listed).rejects.toMatchObject({ name: "UsageError" });
  });

  test.each([["nonsense"], ["constructor"], ["toString"], ["__proto__"], [""]])("%j is no list", async (name) => {
    const listed = listAt(await contextOf(), "1", name, {});
    await expect(listed).rejects.toThrow(`there is no list "${name}"; there are `);
    await expect(listed).rejects.toMatchObject({ name: "UsageError" });
  });

  test.each([
    ["messages", {}],
    ["messages", { thread: "" }],
    ["threads", { thread: "t1" }],
    ["threads", { thread: "" }],
  ])("%s of %j is bad usage", async (name, options) => {
    const listed = listAt(await contextOf(), "1", name, options);
    await expect(listed).rejects.toMatchObject({ name: "UsageError" });
  });

  test("bad usage ends with exit code 2", async () => {
    const { code, stderr } = await cli(await shortHistory(), "at", "5", "constructor");
    expect([code, stderr]).toEqual([2, expect.stringContaining("there is no list")]);
  });
});
