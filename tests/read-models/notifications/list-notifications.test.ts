import { beforeEach, expect, test } from "@jest/globals";
import { listNotifications } from "../../../read-models/notifications/index.js";
import { notificationRead, notified } from "../../support/action-facts.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { planOf } from "../../support/query-plan.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
let backend: Backend;

beforeEach(async () => {
  backend = await bench.backend();
  for (const id of ["a", "b", "c", "d", "e"]) {
    const facts = ["b", "d"].includes(id) ? [notified(id), notificationRead] : [notified(id)];
    await record(backend.log, appendOf({ ...write(`notification-${id}`, "any", ...facts), threadId: null }));
  }
});

async function pages(unreadOnly: boolean): Promise<string[][]> {
  const found: string[][] = [];
  for (let beforePosition = Number.MAX_SAFE_INTEGER; ;) {
    const rows = await listNotifications(backend.store.query, { unreadOnly, beforePosition, limit: 2 });
    if (rows.length === 0) return found;
    found.push(rows.map((row) => row.notification_id));
    beforePosition = rows.at(-1)!.position;
  }
}

test("page after page of notifications shows each once, the newest first", async () => {
  expect(await pages(false)).toEqual([["e", "d"], ["c", "b"], ["a"]]);
});

test("those that are not read are listed apart, and found without looking at the others", async () => {
  expect(await pages(true)).toEqual([["e", "c"], ["a"]]);
  const page = { unreadOnly: true, beforePosition: 100, limit: 2 };
  const plan = await planOf(backend, (db) => listNotifications(db, page));
  expect(plan).toEqual([expect.stringContaining("(read_at=? AND position<?)")]);
});
