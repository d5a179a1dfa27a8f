import { describe, expect, test } from "@jest/globals";
import { bindingOf, propose } from "../../../domain/approvals/index.js";
import { hour, toTimestamp } from "../../../domain/shared/index.js";
import { systemHash } from "../../../infra/ports/system-hash.js";
import { Identity, RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { noon } from "../../support/appends.js";
import { actingTool } from "./tools.js";

type Wish = Parameters<typeof propose>[0];
type Circumstances = Parameters<typeof propose>[1];

const wish: Wish = {
  actionId: "a",
  toolCallId: "call",
  idempotencyKey: "turn/1/1",
  tool: actingTool({ undoSeconds: 5 }),
  args: { to: "ada", text: "hello" },
  identity: Identity.BOT,
  justification: "The owner will surely love this.",
  source: "chat",
  sourceId: "turn",
  supersedes: null,
};
const circumstances: Circumstances = {
  ...{ hash: systemHash, policyVersion: "p1", expiresAt: noon + hour, untrusted: [], ownerWords: [], isCutOff: false },
};

function proposal(different: Partial<Wish> = {}, around: Partial<Circumstances> = {}) {
  const fact = propose({ ...wish, ...different }, { ...circumstances, ...around });
  if (fact.case !== "proposedActionCreated") throw new Error("it is something else");
  return fact.value;
}

describe("what an approval binds", () => {
  const bound = { tool: "t", toolVersion: 1, args: { b: 1, a: [1, 2] }, identity: Identity.USER, policyVersion: "p" };
  const hex = (more: Partial<typeof bound> = {}) =>
    Buffer.from(bindingOf(systemHash, { ...bound, ...more })).toString("hex");

  test("is the same however the arguments are ordered", () => {
    expect(hex({ args: { a: [1, 2], b: 1 } })).toBe(hex());
  });

  test("changes with any change", () => {
    const all = [
      hex(),
      hex({ tool: "u" }),
      hex({ toolVersion: 2 }),
      hex({ args: { b: 1, a: [2, 1] } }),
      hex({ args: { b: "1" as unknown as number, a: [1, 2] } }),
      hex({ args: { b: 1, a: [1, 2], c: null } as typeof bound.args }),
      hex({ identity: Identity.BOT }),
      hex({ policyVersion: "q" }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("a proposal", () => {
  test("says all that the executor and the owner need", () => {
    expect(proposal()).toMatchObject({
      actionId: "a",
      tool: "a_tool",
      toolVersion: 1,
      riskClass: RiskClass.WRITE,
      identity: Identity.BOT,
      idempotencyKey: "turn/1/1",
      deterministicSummary: "Post to ada",
      targetEntity: "ada",
      expiresAt: toTimestamp(noon + hour),
      args: { to: "ada", text: "hello" },
      policyVersion: "p1",
      toolCallId: "call",
      source: "chat",
      sourceId: "turn",
      revision: 1,
      supersedesActionId: "",
      undoSeconds: 5,
      untrustedSources: [],
      warnings: [],
    });
  });

  test("is bound by the same hash that the executor will ask for", () => {
    const { tool, args, identity } = wish;
    const bound = { tool: tool.name, toolVersion: tool.version, args, identity, policyVersion: "p1" };
    expect(proposal().argsHash).toEqual(bindingOf(systemHash, bound));
  });

  test("has a card whose hash changes with whatever the owner sees", () => {
    const page = { tool: "web_open", origin: "x", text: "ada" };
    const all = [
      proposal(),
      proposal({ actionId: "b" }),
      proposal({ args: { to: "bob", text: "hello" } }),
      proposal({ args: { to: "ada", text: "hello!" } }),
      proposal({ identity: Identity.USER }),
      proposal({ tool: actingTool({ version: 2 }) }),
      proposal({ tool: actingTool({ name: "another" }) }),
      proposal({}, { policyVersion: "p2" }),
      proposal({}, { untrusted: [page], ownerWords: [{ position: 1, text: "to ada" }] }),
      proposal({}, { untrusted: [page] }),
      proposal({ supersedes: { actionId: "z", revision: 1, preview: { body: "before" } } }),
    ].map(({ cardHash }) => Buffer.from(cardHash ?? []).toString("hex"));
    expect(new Set(all).size).toBe(all.length);
  });

  test("does not let the model's reasons onto the card", () => {
    const { justification, deterministicSummary, targetEntity, preview, warnings, untrustedSources } = proposal();
    expect(justification).toBe(wish.justification);
    const shown = JSON.stringify([deterministicSummary, targetEntity, preview, warnings, untrustedSources]);
    expect(shown).not.toContain("love");
    expect(proposal({ justification: "Something else." }).cardHash).toEqual(proposal().cardHash);
  });

  test("counts revisions, and names the one whose place it takes", () => {
    const supersedes = { actionId: "z", revision: 3, preview: { body: "before", recipients: ["bob"] } };
    const { revision, supersedesActionId, preview } = proposal({ supersedes });
    expect({ revision, supersedesActionId }).toEqual({ revision: 4, supersedesActionId: "z" });
    expect(preview).toMatchObject({ changed: { body: "- before\n+ hello", recipients_before: ["bob"] } });
  });
});
