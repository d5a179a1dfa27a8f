import { beforeEach, describe, expect, test } from "@jest/globals";
import { toTimestamp, type NewFact } from "../../../domain/shared/index.js";
import { RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import {
  findAction,
  findActionPlace,
  findActionStatus,
  listActions,
  listPastActions,
  type ActionStatusText,
  type ProposedActionRow,
} from "../../../read-models/approvals/index.js";
import { approved, done, executed, intended, proposed, rejected } from "../../support/action-facts.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { planOf } from "../../support/query-plan.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const idOf = (row: ProposedActionRow) => row.action_id;
let backend: Backend;

beforeEach(async () => {
  backend = await bench.backend();
});

async function propose(actionId: string, riskClass: RiskClass, minutes: number, ...then: NewFact[]): Promise<void> {
  const expiresAt = toTimestamp(noon + minutes * 60_000);
  const facts = [proposed(actionId, { riskClass, expiresAt }), ...then];
  await record(backend.log, appendOf({ ...write(`action-${actionId}`, "any", ...facts), threadId: "t" }));
}

/** Page after page until there are no more. */
async function pages(status: ActionStatusText, limit: number): Promise<string[][]> {
  const found: string[][] = [];
  for (let after: Parameters<typeof listActions>[1]["after"] = null; ;) {
    const rows = await listActions(backend.store.query, { status, after, limit });
    const last = rows.at(-1);
    if (last === undefined) return found;
    found.push(rows.map(idOf));
    after = { riskClass: last.risk_class, expiresAt: last.expires_at, position: last.position };
  }
}

describe("pending actions", () => {
  const inOrder = ["high", "destructive", "soon", "also soon", "late", "write soon", "write", "read", "unknown"];

  beforeEach(async () => {
    await propose("unknown", RiskClass.RISK_CLASS_UNSPECIFIED, 1);
    await propose("write", RiskClass.WRITE, 9);
    await propose("late", RiskClass.EXFILTRATION, 8);
    await propose("soon", RiskClass.EXFILTRATION, 5);
    await propose("decided", RiskClass.HIGH, 1, approved);
    await propose("read", RiskClass.READ, 1);
    await propose("also soon", RiskClass.EXFILTRATION, 5);
    await propose("high", RiskClass.HIGH, 9);
    await propose("write soon", RiskClass.WRITE, 2);
    await propose("destructive", RiskClass.DESTRUCTIVE, 9);
  });

  test("are listed by risk, then by when they expire, then by age", async () => {
    expect(await pages("PENDING", 100)).toEqual([inOrder]);
  });

  test.each([1, 2, 3, 4])("are each shown once, page after page of %d", async (limit) => {
    const found = await pages("PENDING", limit);
    expect(found.flat()).toEqual(inOrder);
    expect(found.slice(0, -1).every((page) => page.length === limit)).toBe(true);
  });

  test("are shown once even if others come and go between two pages", async () => {
    const first = await listActions(backend.store.query, { status: "PENDING", after: null, limit: 3 });
    const { risk_class: riskClass, expires_at: expiresAt, position } = first.at(-1)!;
    await propose("riskier", RiskClass.HIGH, 3);
    await record(backend.log, appendOf({ ...write("action-soon", "any", rejected("no")), threadId: "t" }));
    const after = { riskClass, expiresAt, position };
    const rest = await listActions(backend.store.query, { status: "PENDING", after, limit: 100 });
    expect(rest.map(idOf)).toEqual(inOrder.slice(3));
  });

  test("are found without looking at those that are decided", async () => {
    const byStatus = /^SEARCH proposed_actions USING INDEX \S+risk_class\S+ \(status=\?/;
    for (const after of [null, { riskClass: 3, expiresAt: "2026-01-01T12:00:00.000Z", position: 1 }]) {
      const [search, ...sort] = await planOf(backend, (db) => listActions(db, { status: "PENDING", after, limit: 10 }));
      expect(search).toMatch(byStatus);
      expect(sort).toEqual(["USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY"]); // Only within a class of risk.
    }
  });
});

describe("past actions", () => {
  const wholeStory = [approved, intended(), done, executed];

  beforeEach(async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await propose(name, RiskClass.WRITE, 9, ...wholeStory);
    await propose("f", RiskClass.WRITE, 9, rejected("no"));
  });

  test("are listed page after page, the newest first", async () => {
    const found: string[][] = [];
    for (let beforePosition = Number.MAX_SAFE_INTEGER; ;) {
      const page = { status: "EXECUTED", beforePosition, limit: 2 } as const;
      const rows = await listPastActions(backend.store.query, page);
      if (rows.length === 0) break;
      found.push(rows.map(idOf));
      beforePosition = rows.at(-1)!.position;
    }
    expect(found).toEqual([["e", "d"], ["c", "b"], ["a"]]);
  });

  test("are found by their status and position alone", async () => {
    const page = { status: "REJECTED", beforePosition: 1_000, limit: 2 } as const;
    const plan = await planOf(backend, (db) => listPastActions(db, page));
    expect(plan).toEqual([expect.stringMatching(/^SEARCH .* \(status=\? AND position<\?\)$/)]);
    expect((await listPastActions(backend.store.query, page)).map(idOf)).toEqual(["f"]);
  });

  test("are found by their id", async () => {
    expect(await findAction(backend.store.query, "c")).toMatchObject({ action_id: "c", status: "EXECUTED" });
    expect(await findAction(backend.store.query, "nobody")).toBeUndefined();
  });

  test("are asked how they stand and where they belong, and nothing else is read", async () => {
    const { query } = backend.store;
    expect(await findActionStatus(query, "c")).toBe("EXECUTED");
    expect(await findActionStatus(query, "nobody")).toBeNull();
    const place = { thread_id: "t", turn_id: null, tool: "gmail_send_draft", idempotency_key: "key f" };
    expect(await findActionPlace(query, "f")).toEqual({ ...place, key_used_by: null });
    expect(await findActionPlace(query, "nobody")).toBeUndefined();
  });

  test("say which one has used their idempotency key first, of those of the same tool", async () => {
    await propose("first", RiskClass.WRITE, 1, approved, intended(1, "a key"), done, executed);
    const same = { expiresAt: toTimestamp(noon), idempotencyKey: "a key" };
    const others = { second: proposed("second", same), other: proposed("other", { ...same, tool: "another" }) };
    for (const [id, fact] of Object.entries(others))
      await record(backend.log, appendOf(write(`action-${id}`, "any", fact)));
    expect(await findActionPlace(backend.store.query, "second")).toMatchObject({ key_used_by: "first" });
    expect(await findActionPlace(backend.store.query, "other")).toMatchObject({ key_used_by: null });
  });
});
