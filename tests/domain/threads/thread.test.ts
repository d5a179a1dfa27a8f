import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Fact, NewFact } from "../../../domain/shared/index.js";
import { createThread, deleteThread, evolveThread, initialThread } from "../../../domain/threads/index.js";
import { delta, said, threadCreated, threadDeleted, titled } from "../../support/facts.js";
import { given } from "../../support/given.js";

const thread = { initial: initialThread, evolve: evolveThread };

describe("a thread", () => {
  test("is created", () => {
    given(thread).when(createThread, "ios").thenRecords(threadCreated);
  });

  test("is created once: a repeat is not news", () => {
    given(thread, threadCreated).when(createThread, "ios").thenDoesNothing();
  });

  test("stays what it is when created again from another channel", () => {
    given(thread, threadCreated).when(createThread, "mail").thenDoesNothing();
  });

  test("is not created again once it was deleted", () => {
    given(thread, threadCreated, threadDeleted).when(createThread, "ios").thenRefuses("thread_deleted");
  });

  test("is deleted", () => {
    given(thread, threadCreated).when(deleteThread).thenRecords(threadDeleted);
  });

  test("is deleted once", () => {
    given(thread, threadCreated, threadDeleted).when(deleteThread).thenDoesNothing();
  });

  test("that never was cannot be deleted", () => {
    given(thread).when(deleteThread).thenRefuses("thread_not_found");
  });
});

describe("whatever has happened to a thread,", () => {
  const histories = fc.array(
    fc.constantFrom<NewFact>(threadCreated, threadDeleted, titled("t"), said("hello"), delta("h")),
  );
  const decisions = fc.constantFrom(deleteThread, (state: Parameters<typeof deleteThread>[0]) =>
    createThread(state, "ios"),
  );

  test("deciding twice records once", () => {
    fc.assert(
      fc.property(histories, decisions, (history, decide) => {
        const first = decide(given(thread, ...history).state);
        if (first.outcome === "refused") return;
        given(thread, ...history, ...first.facts)
          .when(decide)
          .thenDoesNothing();
      }),
    );
  });

  test("an erased fact counts as much as it did when it still said something", () => {
    fc.assert(
      fc.property(histories, (history) => {
        const erased = history.map((fact) => ({ case: fact.case, value: null }) as Fact);
        expect(erased.reduce(evolveThread, initialThread)).toEqual(given(thread, ...history).state);
      }),
    );
  });

  test("deciding does not change what was known", () => {
    fc.assert(
      fc.property(histories, decisions, (history, decide) => {
        const { state } = given(thread, ...history);
        const before = structuredClone(state);
        decide(state);
        expect(state).toEqual(before);
      }),
    );
  });
});
