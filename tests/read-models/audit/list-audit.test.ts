import { beforeEach, describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { listAudit, type AuditFilter } from "../../../read-models/audit/index.js";
import { approved, policyDecided, proposed, toolStarted } from "../../support/action-facts.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner, type Backend } from "../../support/backend.js";
import { planOf } from "../../support/query-plan.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const at = (seconds: number) => new Date(noon + seconds * 1_000).toISOString();
const all = { beforePosition: Number.MAX_SAFE_INTEGER, limit: 100 };
let backend: Backend;

// At the positions 1 to 6, a second apart.
beforeEach(async () => {
  backend = await bench.backend();
  const story: readonly (readonly [string, string | null, NewFact])[] = [
    ["turn-1", "t", policyDecided("a")],
    ["action-a", "t", proposed("a")],
    ["action-b", "u", proposed("b")],
    ["action-a", "t", approved],
    ["memory", null, { case: "agentMemoryUpdated", value: {} }],
    ["turn-2", "u", toolStarted("e")],
  ];
  for (const [n, [stream, threadId, fact]] of story.entries()) {
    const provenance = threadId === "u" ? { ...fromOwner, jobId: "job-1" } : fromOwner;
    const append = appendOf({ ...write(stream, "any", fact), threadId, provenance });
    await record(backend.log, { ...append, occurredAt: noon + n * 1_000 });
  }
});

async function positions(filter: AuditFilter): Promise<number[]> {
  return (await listAudit(backend.store.query, { ...filter, ...all })).map(({ position }) => position);
}

describe("the audit log", () => {
  test.each<[string, AuditFilter, number[]]>([
    ["without a filter", {}, [6, 5, 4, 3, 2, 1]],
    ["of a type", { eventType: "proposedActionCreated" }, [3, 2]],
    ["of a thread", { threadId: "t" }, [4, 2, 1]],
    ["of a job", { jobId: "job-1" }, [6, 3]],
    ["of an action", { actionId: "a" }, [4, 2, 1]],
    ["since a moment, which is part of it", { from: at(3) }, [6, 5, 4]],
    ["until a moment, which is not part of it", { until: at(3) }, [3, 2, 1]],
    ["between two moments", { from: at(1), until: at(3) }, [3, 2]],
    ["by all at once", { eventType: "proposedActionCreated", threadId: "u", jobId: "job-1", actionId: "b" }, [3]],
    ["of nobody", { threadId: "nobody" }, []],
  ])("%s is listed, the newest first", async (_, filter, expected) => {
    expect(await positions(filter)).toEqual(expected);
  });

  test("is listed page after page", async () => {
    const found: number[][] = [];
    for (let beforePosition = Number.MAX_SAFE_INTEGER; ;) {
      const rows = await listAudit(backend.store.query, { threadId: "t", beforePosition, limit: 2 });
      if (rows.length === 0) break;
      found.push(rows.map(({ position }) => position));
      beforePosition = rows.at(-1)!.position;
    }
    expect(found).toEqual([[4, 2], [1]]);
  });

  test.each<[AuditFilter, string]>([
    [{}, "(position<?)"],
    [{ eventType: "x" }, "(event_type=? AND position<?)"],
    [{ threadId: "x" }, "(thread_id=? AND position<?)"],
    [{ jobId: "x" }, "(job_id=? AND position<?)"],
    [{ actionId: "x" }, "(action_id=? AND position<?)"],
  ])("by %j is found by an index, in its order", async (filter, search) => {
    const plan = await planOf(backend, (db) => listAudit(db, { ...filter, ...all }));
    expect(plan).toEqual([expect.stringContaining(search)]);
  });
});
