import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  findTurn,
  listPausedTurns,
  listTurnsEndedSince,
  listUnfinishedTurns,
  type TurnRow,
} from "../../../read-models/threads/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { forget } from "../../support/conversation.js";
import { said } from "../../support/facts.js";
import {
  turnCompleted,
  turnFailed,
  turnPaused,
  turnQueued,
  turnResumed,
  turnStarted,
} from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const idOf = (row: TurnRow) => row.turn_id;
let backend: Backend;

beforeEach(async () => {
  backend = await bench.backend();
  const ended = [turnStarted("a"), turnCompleted("x"), turnStarted("b"), turnFailed("cut"), turnStarted("c")];
  const asked = ["a", "b", "c"].map((turnId) => said(`hello ${turnId}`, `ask ${turnId}`));
  await record(backend.log, appendOf(write("t", "any", ...asked, ...ended, turnQueued("d"), turnCompleted("y"))));
  await record(backend.log, appendOf(write("u", "any", turnStarted("e"), turnQueued("f"), turnPaused("e"))));
  await record(backend.log, appendOf(write("v", "any", turnStarted("g"), turnPaused("g"), turnResumed("g"))));
});

test("turns that are not over are those of all threads that wait, run or are paused, in the order of the log", async () => {
  const rows = await listUnfinishedTurns(backend.store.query);
  expect(rows.map((row) => [row.turn_id, row.status])).toEqual([
    ["d", "queued"],
    ["e", "paused"],
    ["f", "queued"],
    ["g", "running"],
  ]);
});

test("turns that are paused are those of their thread, in the order they began", async () => {
  const more = [turnStarted("h"), turnPaused("h"), turnStarted("i"), turnPaused("i"), turnResumed("h")];
  await record(backend.log, appendOf(write("u", "any", ...more)));
  await record(backend.log, appendOf(write("u", "any", turnPaused("h"))));
  const paused = async (threadId: string) => (await listPausedTurns(backend.store.query, threadId)).map(idOf);
  expect(await paused("u")).toEqual(["e", "h", "i"]);
  expect(await paused("v")).toEqual([]);
  expect(await paused("nobody's")).toEqual([]);
});

test("a turn is found by its name", async () => {
  expect(await findTurn(backend.store.query, "e")).toMatchObject({ turn_id: "e", thread_id: "u", status: "paused" });
  expect(await findTurn(backend.store.query, "nobody")).toBeUndefined();
});

describe("turns that ended", () => {
  test("are listed page after page, in the order they did", async () => {
    const page = { threadId: "t", limit: 2 };
    const first = await listTurnsEndedSince(backend.store.query, { ...page, afterPosition: 0 });
    expect(first.map(idOf)).toEqual(["a", "b"]);
    const second = await listTurnsEndedSince(backend.store.query, {
      ...page,
      afterPosition: first[1]!.ended_position!,
    });
    expect(second.map(idOf)).toEqual(["c"]);
  });

  test("are left out if what was asked in them is erased", async () => {
    await forget(backend, 2);
    await backend.projector.reached(backend.log.head().position);
    const page = { threadId: "t", afterPosition: 0, limit: 9 };
    expect((await listTurnsEndedSince(backend.store.query, page)).map(idOf)).toEqual(["a", "c"]);
  });

  test("are none where none has", async () => {
    expect(await listTurnsEndedSince(backend.store.query, { threadId: "u", afterPosition: 0, limit: 9 })).toEqual([]);
  });
});
