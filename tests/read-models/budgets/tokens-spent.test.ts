import { expect, test } from "@jest/globals";
import { tokensSpent } from "../../../read-models/budgets/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { callFailed, callFinished, callStarted } from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const minutes = (count: number) => new Date(noon + count * 60_000).toISOString();

test("what was spent is what calls have cost that started then, and what is reserved for those that are open", async () => {
  const { log, store } = await bench.backend();
  const calls = [
    [callStarted("early", 1), callFinished("early", 10, 1)],
    [callStarted("finished", 20), callFinished("finished", 200, 2)],
    [callStarted("failed", 3_000), callFailed("failed", 0)],
    [callStarted("open", 40_000)],
    [callStarted("late", 500_000)],
  ];
  for (const [minute, facts] of calls.entries()) {
    await record(log, { ...appendOf(write("t", "any", ...facts)), occurredAt: noon + minute * 60_000 });
  }
  expect(await tokensSpent(store.query, { from: minutes(1), until: minutes(4) })).toBe(40_202);
  expect(await tokensSpent(store.query, { from: minutes(0), until: minutes(1) })).toBe(11);
  expect(await tokensSpent(store.query, { from: minutes(5), until: minutes(9) })).toBe(0);
});
