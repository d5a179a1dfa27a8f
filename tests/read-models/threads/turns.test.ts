import { beforeEach, describe, expect, test } from "@jest/globals";
import { listTurnsEndedSince, listUnfinishedTurns, type TurnRow } from "../../../read-models/threads/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
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
  await record(backend.log, appendOf(write("t", "any", ...ended, turnQueued("d"), turnCompleted("y"))));
  await record(backend.log, appendOf(write("u", "any", turnStarted("e"), turnQueued("f"), turnPaused)));
  await record(backend.log, appendOf(write("v", "any", turnStarted("g"), turnPaused, turnResumed)));
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

  test("are none where none has", async () => {
    expect(await listTurnsEndedSince(backend.store.query, { threadId: "u", afterPosition: 0, limit: 9 })).toEqual([]);
  });
});
