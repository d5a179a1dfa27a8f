import { describe, expect, test } from "@jest/globals";
import { minute } from "../../../domain/shared/index.js";
import { cli, jsonLines } from "../../support/cli.js";
import { outletTool } from "../../support/outlet.js";
import { Conveyor } from "../actions/conveyor.js";

const conveyor = new Conveyor();
const run = (...args: string[]) => cli(conveyor.directory, ...args);
const printed = async (...args: string[]) => jsonLines((await run("--json", ...args)).stdout);

describe("pincer approvals", () => {
  test("list prints what waits for the owner, or what became of the rest", async () => {
    const [one, other] = [await conveyor.propose("one"), await conveyor.propose("other")];
    await conveyor.approvals.rejectAction({ actionId: other.actionId, reason: "no" });
    const summary = "Post 3 characters to ada";
    expect(await printed("approvals", "list")).toMatchObject([
      { action_id: one.actionId, status: "PENDING", risk: "WRITE", tool: "outlet_post", summary },
    ]);
    expect(await printed("approvals", "list", "--status", "rejected")).toMatchObject([{ action_id: other.actionId }]);
    const { code, stdout } = await run("approvals", "list");
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`outlet_post: ${summary}`) });
  });

  test("list does not know any status that there is not", async () => {
    const { code, stderr } = await run("approvals", "list", "--status", "lost");
    expect(code).not.toBe(0);
    expect(stderr).toContain("pending, approved, rejected, executed");
  });

  test("show prints the whole card", async () => {
    const { actionId } = await conveyor.propose();
    const { stdout } = await run("approvals", "show", actionId);
    for (const shown of ["Post 5 characters to ada", "recipients", '["ada"]', "hello", "body_bytes", "account"])
      expect(stdout).toContain(shown);
    expect(await printed("approvals", "show", actionId)).toMatchObject([
      { action_id: actionId, preview: { recipients: ["ada"], body: "hello" }, revision: 1, warnings: [] },
    ]);
  });

  test("approve shows what it approves, and has it done", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const { code, stdout } = await run("approvals", "approve", actionId);
    expect(code).toBe(0);
    expect(stdout).toContain("Post 5 characters to ada");
    expect(stdout).toMatch(new RegExp(`^(approved|executed) {2}${actionId}$`, "m"));
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("reject says why, and nothing is done", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const { code } = await run("approvals", "reject", actionId, "--reason", "Not today.");
    expect(code).toBe(0);
    await conveyor.until("turnCompleted", turnId);
    expect((await conveyor.look(actionId)).rejectionReason).toBe("Not today.");
    const again = await run("approvals", "approve", actionId);
    expect(again.code).not.toBe(0);
    expect(again.stderr).toContain("rejected before");
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("show tells where it comes from, what was decided and why", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const { approval } = await conveyor.approvals.editAction({ actionId, args: { to: "bob", text: "hello" } });
    const revisedId = approval!.actionId;
    await conveyor.approvals.rejectAction({ actionId: revisedId, reason: "Not today." });
    const first = (await run("approvals", "show", actionId)).stdout;
    expect(first).toContain(`  its place is taken by  ${revisedId}\n`);
    expect(first).toContain("superseded");
    const { stdout } = await run("approvals", "show", revisedId);
    for (const line of [`from  chat ${turnId}`, "revision  2", `takes the place of  ${actionId}`])
      expect(stdout).toContain(`  ${line}\n`);
    expect(stdout).toMatch(/^ {2}rejected {2}.*Not today\.$/m);
  });

  test("show tells what became of it", async () => {
    conveyor.outlet.will("refuse");
    const { actionId, turnId } = await conveyor.approved();
    await conveyor.until("turnCompleted", turnId);
    await conveyor.shown();
    const { stdout } = await run("approvals", "show", actionId);
    expect(stdout).toContain("  carried out  FAILED\n  because  the outlet said 422\n");
  });

  test("cancel takes an approval back", async () => {
    await conveyor.restart({ tools: (url) => [outletTool(url, { undoSeconds: 10 })] });
    const { actionId } = await conveyor.approved();
    const { code, stdout } = await run("approvals", "cancel", actionId);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `rejected  ${actionId}\n` });
    expect(conveyor.outlet.requests).toBe(0);
  });

  test.each([
    ["--done", "executed", "DONE"],
    ["--not-done", "approved", "FAILED"],
  ])("resolve %s says what became of it, once and for all", async (option, status, execution) => {
    conveyor.outlet.will("forget");
    const { actionId, turnId } = await conveyor.approved();
    await conveyor.until("turnCompleted", turnId);
    const { code, stdout } = await run("approvals", "resolve", actionId, option);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${status}  ${actionId}\n` });
    expect(await printed("approvals", "show", actionId)).toMatchObject([{ execution }]);
    const contrary = await run("approvals", "resolve", actionId, option === "--done" ? "--not-done" : "--done");
    expect(contrary.code).toBe(1);
  });

  test.each([[[]], [["--done", "--not-done"]]])("resolve wants one answer, not %j", async (options) => {
    const { code, stderr } = await run("approvals", "resolve", "x", ...options);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("--done or --not-done") });
  });

  test.each(["show", "approve", "reject", "cancel"])("%s of nothing says so", async (verb) => {
    const { code, stderr } = await run("approvals", verb, "nobody");
    expect(code).not.toBe(0);
    expect(stderr).toContain("There is no such action.");
  });

  test("nothing of a card speaks to the terminal", async () => {
    const { actionId } = await conveyor.propose();
    const args = { to: "ada", text: "\u001b[2Jhello\u202e" };
    const { approval } = await conveyor.approvals.editAction({ actionId, args });
    const { stdout } = await run("approvals", "show", approval!.actionId);
    for (const character of ["\u001b", "\u202e"]) expect(stdout).not.toContain(character);
  });

  test("nothing that is sent can pass for another line of the card", async () => {
    const { actionId } = await conveyor.propose();
    const args = { to: "eve", text: 'hello\n  recipients    ["ada"]' };
    const { approval } = await conveyor.approvals.editAction({ actionId, args });
    const { stdout } = await run("approvals", "show", approval!.actionId);
    expect(stdout.match(/^ {2}recipients {4}.*$/gm)).toEqual(['  recipients    ["eve"]']);
  });
});

describe("pincer audit and explain", () => {
  test("tell what happened to an action, and why", async () => {
    const { actionId, turnId } = await conveyor.approved("a private word");
    await conveyor.until("turnCompleted", turnId);
    await conveyor.shown();
    const audit = await run("--json", "audit", "list", "--action", actionId);
    expect(jsonLines(audit.stdout)).toHaveLength(7);
    expect(audit.stdout).not.toContain("private");
    expect(jsonLines(audit.stdout)).toContainEqual(expect.objectContaining({ actor: "worker:executor" }));
    expect((await run("audit", "list", "--action", actionId)).stdout).toMatch(
      new RegExp(`^\\S+Z {2}operator {2}proposedActionStatusChanged {2}${actionId} {2}\\{"status":"APPROVED"`, "m"),
    );
    const created = await printed("audit", "list", "--type", "proposedActionCreated");
    expect(created).toMatchObject([{ type: "proposedActionCreated", action_id: actionId }]);
    const { code, stdout } = await run("explain", actionId);
    expect(code).toBe(0);
    expect(stdout).toContain("The owner said:");
    expect(stdout).toContain("Attempt 1, by execution: DONE.");
    expect((await run("explain", "nobody")).code).not.toBe(0);
  });

  test("list what happened within a time, and for a job", async () => {
    await conveyor.propose();
    await conveyor.shown();
    const between = new Date(conveyor.clock.now() + minute).toISOString();
    conveyor.clock.forward(2 * minute);
    const { actionId } = await conveyor.propose();
    await conveyor.shown();
    const proposed = async (...filter: string[]) =>
      (await printed("audit", "list", "--type", "proposedActionCreated", ...filter)).length;
    expect(await proposed()).toBe(2);
    expect(await proposed("--from", between)).toBe(1);
    expect(await proposed("--until", between)).toBe(1);
    expect(await proposed("--from", between, "--action", actionId)).toBe(1);
    expect(await proposed("--from", between, "--until", between)).toBe(0);
    expect(await proposed("--job", "nobody")).toBe(0);
  });

  test.each([
    ["--from", "yesterday"],
    ["--until", "9999-12-31T23:59:59-01:00"],
  ])("know no time such as %s %s", async (option, time) => {
    const { code, stderr } = await run("audit", "list", option, time);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`${option} is a time`) });
  });
});
