import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { policyRules, policySummary, proposalsPerTurnMax, type Tool } from "../../../domain/approvals/index.js";
import { systemHash } from "../../../infra/ports/system-hash.js";
import { actingTool, internalTool, readingTool } from "./tools.js";

const limits = { approvalHours: 24, actionsPerBundleMax: 50 };
const args = z.strictObject({ to: z.string() });
const theirs: Tool = { ...actingTool({ name: "theirs", undoSeconds: 5 }), args, limits: { attemptsMax: 2 } };

describe("the summary of the policy", () => {
  test("names every rule, every tool and every limit", () => {
    const tools = [internalTool({ name: "mine" }), readingTool({ name: "news" }), theirs];
    const summary = policySummary(policyRules, tools, limits);
    expect(summary).toMatchObject({
      rules: expect.arrayContaining(policyRules.map(({ id, says }) => ({ id, says }))),
      tools: [
        { name: "mine", version: 1, risk: "WRITE", identity: "none", kind: "internal", destination: "internal" },
        { name: "news", risk: "READ", kind: "reading", destination: "external", is_result_untrusted: true },
        {
          ...{ name: "theirs", version: 1, risk: "WRITE", identity: "none", kind: "acting", destination: "external" },
          ...{ is_result_untrusted: false, undo_seconds: 5 },
          arguments: { type: "object", properties: { to: { type: "string" } }, additionalProperties: false },
          limits: { attempt_millis_max: 60_000, attempts_max: 2, at_once_max: 10, result_tokens_max: 16_000 },
        },
      ],
    });
    expect(summary["limits"]).toEqual({
      approval_hours: 24,
      actions_per_bundle_max: 50,
      proposals_per_turn_max: proposalsPerTurnMax,
    });
  });

  test("names all of it in the same way", () => {
    const names = new Set<string>();
    JSON.stringify(
      policySummary(policyRules, [{ ...theirs, args: z.strictObject({}) }], limits),
      (name, value: unknown) => {
        if (name !== "arguments") names.add(name);
        return name === "arguments" ? null : value;
      },
    );
    expect([...names].filter((name) => !/^[a-z_0-9]*$/u.test(name))).toEqual([]);
  });

  test("has a hash that changes with whatever binds an action", () => {
    const hash = (tool: Tool, other = limits) =>
      Buffer.from(systemHash(policySummary(policyRules, [tool], other))).toString("hex");
    const others: readonly Tool[] = [
      { ...theirs, args: z.strictObject({ to: z.string().max(9) }) },
      { ...theirs, isResultUntrusted: true },
      { ...theirs, undoSeconds: 6 },
      { ...theirs, limits: { attemptsMax: 3 } },
      { ...theirs, version: 2 },
    ];
    const all = [
      hash(theirs),
      ...others.map((tool) => hash(tool)),
      hash(theirs, { ...limits, approvalHours: 1 }),
      hash(theirs, { ...limits, actionsPerBundleMax: 1 }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});
