import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Folds } from "../../commands/folds.js";
import { handle, type Command } from "../../commands/handle.js";
import type { EventLog } from "../../commands/ports/index.js";
import { accept, nothing, type Fact } from "../../domain/shared/index.js";
import { noon } from "../support/appends.js";
import { fromOwner } from "../support/backend.js";
import { contended } from "../support/contended.js";
import { delta } from "../support/facts.js";
import { workbench } from "../support/workbench.js";

const bench = workbench();
const foldsMax = 1_000;

const count = (events: number, _fact: Fact): number => events + 1;
const join = (text: string, fact: Fact): string =>
  fact.case === "assistantTextDelta" ? `${text}${fact.value?.delta ?? "?"}` : text;

describe("the state of a stream", () => {
  test("is known once it was remembered, as it was last", () => {
    const folds = new Folds();
    expect(folds.recall("s", count)).toBeNull();
    folds.remember("s", count, { state: 3, version: 3 });
    folds.remember("s", count, { state: 5, version: 5 });
    expect(folds.recall("s", count)).toEqual({ state: 5, version: 5 });
    expect(folds.recall("t", count)).toBeNull();
  });

  test("is another for another way of looking at it", () => {
    const folds = new Folds();
    folds.remember("s", count, { state: 3, version: 3 });
    expect(folds.recall("s", join)).toBeNull();
    expect(folds.recall("s", (events: number, fact: Fact) => count(events, fact))).toBeNull();
    folds.remember("s", join, { state: "abc", version: 3 });
    expect(folds.recall("s", join)).toEqual({ state: "abc", version: 3 });
    expect(folds.recall("s", count)).toBeNull();
  });

  test("is not known any more when it was dropped, or all were forgotten", () => {
    const folds = new Folds();
    for (const stream of ["s", "t", "u"]) folds.remember(stream, count, { state: 1, version: 1 });
    folds.drop("s");
    folds.drop("never was");
    expect(["s", "t", "u"].map((stream) => folds.recall(stream, count) !== null)).toEqual([false, true, true]);
    folds.forget();
    expect(["s", "t", "u"].map((stream) => folds.recall(stream, count))).toEqual([null, null, null]);
  });

  test("makes room for another, if it was not looked at for the longest time", () => {
    const folds = new Folds();
    const remember = (index: number) => folds.remember(`${index}`, count, { state: index, version: 1 });
    const isKnown = (index: number) => folds.recall(`${index}`, count) !== null;
    for (let index = 0; index < foldsMax; index++) remember(index);
    expect(isKnown(0)).toBe(true);
    remember(0); // Looked at again, it is the latest.
    remember(foldsMax);
    expect([0, 1, 2, foldsMax].map(isKnown)).toEqual([true, false, true, true]);
    const known = Array.from({ length: foldsMax + 1 }, (_, index) => index).filter(isKnown);
    expect(known).toHaveLength(foldsMax);
  });
});

describe("a command whose states are remembered", () => {
  /** Notes what it has read so far. */
  function note(text: string): Command {
    return {
      at: noon,
      decide: (load) => {
        const decision = accept(delta(`${load("s", "", join).length}${text}`));
        return { stream: "s", threadId: null, provenance: fromOwner, decision };
      },
    };
  }

  const look = (seen: (text: string) => void): Command => ({
    at: noon,
    decide: (load) => {
      seen(load("s", "", join));
      return { stream: "s", threadId: null, provenance: fromOwner, decision: nothing };
    },
  });

  test("reads only what came since", async () => {
    const backend = await bench.backend();
    const read: number[] = [];
    const log: EventLog = {
      append: (append) => backend.log.append(append),
      recall: (command) => backend.log.recall(command),
      streamVersion: (stream) => backend.log.streamVersion(stream),
      readStream: (stream, afterVersion, limit) => {
        read.push(afterVersion);
        return backend.log.readStream(stream, afterVersion, limit);
      },
    };
    const handling = { ...backend, log, folds: new Folds() };
    await handle(handling, note("a"));
    await handle(handling, note("b"));
    await handle(backend, note("c")); // By somebody who remembers nothing.
    read.length = 0;
    await handle(handling, note("d"));
    expect(read).toEqual([2, 3]); // There is one more after what it has recorded itself, and nothing after the third.
    handling.folds.forget();
    read.length = 0;
    await handle(handling, note("e"));
    expect(read).toEqual([0, 4]);
  });

  test("sees what somebody else was faster with", async () => {
    const backend = await bench.backend();
    const folds = new Folds();
    await handle({ ...backend, folds }, note("a"));
    const log = contended(backend.log, 3, () => handle(backend, note("x")));
    expect(await handle({ ...backend, log, folds }, note("b"))).toMatchObject({ outcome: "done" });
    let seen = "";
    await handle(
      { ...backend, folds },
      look((text) => (seen = text)),
    );
    expect(seen).toBe("0a2x4x6x8b");
  });

  test("decides the same as one that reads everything, whatever is forgotten in between", async () => {
    const steps = fc.array(fc.constantFrom("note", "note elsewhere", "drop", "forget", "another look"), {
      maxLength: 12,
    });
    const backend = await bench.backend();
    const folds = new Folds();
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        for (const step of all) {
          if (step === "note") await handle({ ...backend, folds }, note("n"));
          if (step === "note elsewhere") await handle(backend, note("e"));
          if (step === "drop") folds.drop("s");
          if (step === "forget") folds.forget();
          if (step === "another look") folds.remember("s", count, { state: 7, version: 7 });
        }
        const seen: string[] = [];
        await handle(
          { ...backend, folds },
          look((text) => seen.push(text)),
        );
        await handle(
          backend,
          look((text) => seen.push(text)),
        );
        expect(seen[0]).toBe(seen[1]);
      }),
      { numRuns: 20 },
    );
  });
});
