import { beforeEach, describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { listTalk } from "../../../read-models/threads/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import { fromOwner, type Backend } from "../../support/backend.js";
import { forget } from "../../support/conversation.js";
import { answered, said, threadCreated } from "../../support/facts.js";
import { turnCompleted, turnQueued, turnStarted } from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
let backend: Backend;

/** In thread t; with a turn, as part of it. */
async function happens(turnId: string, ...facts: readonly NewFact[]): Promise<void> {
  const provenance = turnId === "" ? fromOwner : { ...fromOwner, turnId };
  await record(backend.log, appendOf({ ...write("t", "any", ...facts), provenance }));
}

/** A whole turn: a question, and an answer. */
async function takesPlace(turnId: string): Promise<void> {
  await happens(turnId, said(`ask ${turnId}`), turnStarted(turnId), answered(`answer ${turnId}`), turnCompleted("x"));
}

async function talkBefore(turnId: string, turnsMax = 12, messagesMax = 50): Promise<string[]> {
  const rows = await listTalk(backend.store.query, { threadId: "t", turnId, turnsMax, messagesMax });
  return rows.map(({ content }) => content);
}

beforeEach(async () => {
  backend = await bench.backend();
  await happens("", threadCreated);
});

describe("what was said before a turn", () => {
  test("is what the turns before it said, and not what it says itself", async () => {
    await takesPlace("a");
    await takesPlace("b");
    await takesPlace("c");
    expect(await talkBefore("c")).toEqual(["ask a", "answer a", "ask b", "answer b"]);
    expect(await talkBefore("b")).toEqual(["ask a", "answer a"]);
    expect(await talkBefore("a")).toEqual([]);
  });

  test("is in the order of the turns, although a question came while another was being answered", async () => {
    await happens("a", said("ask a"), turnStarted("a"));
    await happens("b", said("ask b"), turnQueued("b"));
    await happens("c", said("ask c"), turnQueued("c"));
    await happens("a", answered("answer a"), turnCompleted("x"));
    await happens("b", turnStarted("b"));
    expect(await talkBefore("b")).toEqual(["ask a", "answer a"]);
    await happens("b", answered("answer b"), turnCompleted("y"));
    await happens("c", turnStarted("c"));
    expect(await talkBefore("c")).toEqual(["ask a", "answer a", "ask b", "answer b"]);
  });

  test("does not go back further than so many turns", async () => {
    for (const turnId of ["a", "b", "c", "d"]) await takesPlace(turnId);
    expect(await talkBefore("d", 2)).toEqual(["ask b", "answer b", "ask c", "answer c"]);
    expect(await talkBefore("d", 3)).toHaveLength(6);
    expect(await talkBefore("d", 0)).toEqual([]);
  });

  test("is the last of it, if it is too much", async () => {
    for (const turnId of ["a", "b", "c"]) await takesPlace(turnId);
    expect(await talkBefore("c", 12, 3)).toEqual(["answer a", "ask b", "answer b"]);
  });

  test("is also what belongs to no turn, where it was said, but not before the first of the turns", async () => {
    await happens("", said("at first"));
    await takesPlace("a");
    await happens("", said("after a"));
    await happens("b", said("ask b"), turnStarted("b"));
    await happens("", said("during b"));
    await happens("b", answered("answer b"), turnCompleted("x"));
    await happens("c", said("ask c"), turnStarted("c"));
    await happens("", said("during c"));
    const since = ["ask b", "answer b", "during b"];
    expect(await talkBefore("c")).toEqual(["at first", "ask a", "answer a", "after a", ...since]);
    expect(await talkBefore("c", 2)).toEqual(["ask a", "answer a", "after a", ...since]);
    expect(await talkBefore("c", 1)).toEqual(since);
    expect(await talkBefore("c", 0)).toEqual([]);
  });

  test("is not what was said in another thread", async () => {
    const provenance = { ...fromOwner, turnId: "other" };
    const elsewhere = [said("ask other"), turnStarted("other"), turnCompleted("x")];
    await record(backend.log, appendOf({ ...write("u", "any", ...elsewhere), provenance }));
    await record(backend.log, appendOf(write("u", "any", said("elsewhere"))));
    await takesPlace("a");
    await happens("b", turnStarted("b"));
    expect(await talkBefore("b")).toEqual(["ask a", "answer a"]);
  });

  test("is nothing before a turn that has not started, or is not known", async () => {
    await takesPlace("a");
    await happens("", said("of no turn"));
    await happens("b", said("ask b"), turnQueued("b"));
    expect(await talkBefore("b")).toEqual([]);
    expect(await talkBefore("nobody")).toEqual([]);
  });

  test("is not what was erased; that there was a turn is still known", async () => {
    for (const turnId of ["a", "b", "c"]) await takesPlace(turnId);
    await forget(backend, 2); // The question of a.
    await forget(backend, 6, 9); // All of b that can be.
    await backend.projector.reached(backend.log.head().position);
    expect(await talkBefore("c")).toEqual(["answer a"]);
    expect(await talkBefore("c", 1)).toEqual([]);
  });
});
