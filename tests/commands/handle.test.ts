import { describe, expect, test } from "@jest/globals";
import { handle, type Command } from "../../commands/handle.js";
import type { EventLog, VersionConflict } from "../../commands/ports/index.js";
import { accept, nothing, refuse, type Decision, type Fact } from "../../domain/shared/index.js";
import { noon } from "../support/appends.js";
import { fromOwner, type Backend } from "../support/backend.js";
import { contended } from "../support/contended.js";
import { delta } from "../support/facts.js";
import { workbench } from "../support/workbench.js";

const bench = workbench();
const attemptsMax = 10;

const count = (events: number, _fact: Fact): number => events + 1;

/** A command on one stream that records what its decision says of the number of events it has seen. */
function commandOn(
  stream: string,
  decide: (events: number, load: Parameters<Command["decide"]>[0]) => Decision,
  key?: Command["key"],
): Command {
  return {
    at: noon,
    ...(key && { key }),
    decide: (load) => {
      const decision = decide(load(stream, 0, count), load);
      return { stream, threadId: null, provenance: fromOwner, decision };
    },
  };
}

function noteOf(events: number): Decision {
  return accept(delta(`after ${events}`));
}

describe("a command", () => {
  test("is done when its events are recorded", async () => {
    const backend = await bench.backend();
    const handled = await handle(backend, commandOn("s", noteOf));
    expect(handled).toMatchObject({
      outcome: "done",
      events: [{ stream: "s", version: 1, payload: { delta: "after 0" } }],
    });
  });

  test("that has nothing to record records nothing", async () => {
    const backend = await bench.backend();
    expect(
      await handle(
        backend,
        commandOn("s", () => nothing),
      ),
    ).toEqual({ outcome: "done", events: [] });
    expect(backend.log.head().position).toBe(0);
  });

  test("that is refused records nothing", async () => {
    const backend = await bench.backend();
    const refused = await handle(
      backend,
      commandOn("s", () => refuse("text_empty", { n: 1 })),
    );
    expect(refused).toEqual({ outcome: "refused", code: "text_empty", facts: { n: 1 } });
    expect(backend.log.head().position).toBe(0);
  });

  test("may be refused without saying where it would have been recorded", async () => {
    const backend = await bench.backend();
    const refused = refuse("turn_not_active", { turn: "a" });
    expect(await handle(backend, { at: noon, decide: () => refused })).toEqual(refused);
    expect(backend.log.head().position).toBe(0);
  });

  test("folds all of a long stream", async () => {
    const backend = await bench.backend();
    const facts = Array.from({ length: 1_000 }, () => delta("x"));
    await handle(
      backend,
      commandOn("s", () => accept(...facts)),
    );
    await handle(backend, commandOn("s", noteOf));
    expect(await handle(backend, commandOn("s", noteOf))).toMatchObject({
      events: [{ payload: { delta: "after 1001" } }],
    });
  });
});

describe("a command that somebody else was faster than", () => {
  function meddle(backend: Backend): () => Promise<unknown> {
    return () =>
      handle(
        backend,
        commandOn("s", () => accept(delta("meddling"))),
      );
  }

  test("is decided anew, with what is true now", async () => {
    const backend = await bench.backend();
    const log = contended(backend.log, 3, meddle(backend));
    const seen: number[] = [];
    const handled = await handle(
      { ...backend, log },
      commandOn("s", (events) => {
        seen.push(events);
        return noteOf(events);
      }),
    );
    expect(seen).toEqual([0, 1, 2, 3]);
    expect(handled).toMatchObject({ outcome: "done", events: [{ version: 4, payload: { delta: "after 3" } }] });
    expect(backend.log.head().position).toBe(4);
  });

  test("may then have nothing to record, or be refused", async () => {
    const backend = await bench.backend();
    const once = (events: number) => (events === 0 ? accept(delta("first")) : nothing);
    const first = contended(backend.log, 1, meddle(backend));
    expect(await handle({ ...backend, log: first }, commandOn("s", once))).toEqual({ outcome: "done", events: [] });
    const closed = (events: number) => (events === 1 ? accept(delta("second")) : refuse("thread_deleted"));
    const second = contended(backend.log, 1, meddle(backend));
    expect(await handle({ ...backend, log: second }, commandOn("s", closed))).toMatchObject({ code: "thread_deleted" });
  });

  test("is given up after ten times, and nothing was recorded", async () => {
    const backend = await bench.backend();
    const log = contended(backend.log, Infinity, meddle(backend));
    let decided = 0;
    const counting = commandOn("s", (events) => {
      decided++;
      return noteOf(events);
    });
    expect(await handle({ ...backend, log }, counting)).toEqual({
      outcome: "refused",
      code: "too_much_contention",
      facts: { attempts: attemptsMax },
    });
    expect(decided).toBe(attemptsMax);
    const texts = backend.log.readStream("s", 0, 100).map(({ payload }) => payload);
    expect(texts).toMatchObject(texts.map(() => ({ delta: "meddling" })));
  });

  test("succeeds at the tenth time", async () => {
    const backend = await bench.backend();
    const log = contended(backend.log, attemptsMax - 1, meddle(backend));
    expect(await handle({ ...backend, log }, commandOn("s", noteOf))).toMatchObject({ outcome: "done" });
  });

  test("also when only what it read has changed, and not what it writes", async () => {
    const backend = await bench.backend();
    const outcomes: string[] = [];
    const watching: EventLog = {
      ...contended(backend.log, 0, meddle(backend)),
      append: async (append) => {
        if (outcomes.length === 0) await meddle(backend)();
        const result = await backend.log.append(append);
        outcomes.push(result.outcome === "version_conflict" ? conflictOn(result) : result.outcome);
        return result;
      },
    };
    const reading = commandOn("other", (_events, load) => noteOf(load("s", 0, count)));
    const handled = await handle({ ...backend, log: watching }, reading);
    expect(outcomes).toEqual(["conflict on s", "appended"]);
    expect(handled).toMatchObject({ events: [{ stream: "other", payload: { delta: "after 1" } }] });
  });

  function conflictOn({ stream }: VersionConflict): string {
    return `conflict on ${stream}`;
  }
});

describe("a command with a key", () => {
  test("that is sent again gets the first answer without being decided again", async () => {
    const backend = await bench.backend();
    const key = { id: "key", asked: "note" };
    const first = await handle(backend, commandOn("s", noteOf, key));
    const again = await handle(
      backend,
      commandOn("s", () => refuse("thread_deleted"), key),
    );
    expect(again).toEqual(first);
    expect(backend.log.head().position).toBe(1);
  });

  test("that was used for something else is refused", async () => {
    const backend = await bench.backend();
    await handle(backend, commandOn("s", noteOf, { id: "key", asked: "note" }));
    const other = await handle(backend, commandOn("s", noteOf, { id: "key", asked: "other" }));
    expect(other).toEqual({ outcome: "refused", code: "command_reused", facts: { key: "key" } });
    expect(backend.log.head().position).toBe(1);
  });

  test("that races with itself is recorded once", async () => {
    const backend = await bench.backend();
    const command = commandOn("s", noteOf, { id: "key", asked: "note" });
    const results = await Promise.all(Array.from({ length: 10 }, () => handle(backend, command)));
    expect(results).toEqual(results.map(() => results[0]));
    expect(backend.log.head().position).toBe(1);
  });

  test("that was refused may be sent again", async () => {
    const backend = await bench.backend();
    const key = { id: "key", asked: "note" };
    await handle(
      backend,
      commandOn("s", () => refuse("text_empty"), key),
    );
    expect(await handle(backend, commandOn("s", noteOf, key))).toMatchObject({ outcome: "done" });
  });
});
