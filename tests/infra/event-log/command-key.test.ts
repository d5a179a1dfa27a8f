import { describe, expect, test } from "@jest/globals";
import type { Append, JsonValue } from "../../../commands/ports/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner } from "../../support/backend.js";
import { delta, said, threadCreated } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

function command(asked: JsonValue, append: Append = appendOf(write("a", "any", said("hello"))), id = "key-1"): Append {
  return { ...append, command: { id, asked } };
}

describe("an append that is sent again with the same key", () => {
  test("is recorded once, and answered with the first events", async () => {
    const log = bench.log();
    const first = await log.append(command("hello"));
    expect(first).toMatchObject({ outcome: "appended", repeated: false });
    const second = await log.append(command("hello"));
    expect(second).toEqual({ ...first, repeated: true });
    expect(log.head().position).toBe(1);
  });

  test("gets the first answer although its expectation is not met any more", async () => {
    const log = bench.log();
    const once = command("hello", appendOf(write("a", "no_stream", said("hello"))));
    const first = await log.append(once);
    await record(log, appendOf(write("a", 1, said("more"))));
    expect(await log.append(once)).toEqual({ ...first, repeated: true });
  });

  test("gets all of its events, of all of its streams, and none of its neighbours'", async () => {
    const log = bench.log();
    await record(log, appendOf(write("z", "any", delta("before"))));
    const several = command(
      "all",
      appendOf(write("a", "any", threadCreated, said("one")), write("b", "any", said("two"))),
    );
    const first = await log.append(several);
    await record(log, appendOf(write("a", "any", delta("after"))));
    const second = await log.append(several);
    expect(second).toEqual({ ...first, repeated: true });
    expect(second).toHaveProperty("events.length", 3);
  });

  test("is recognised after the log was opened anew", async () => {
    const before = bench.log();
    const first = await before.append(command("hello"));
    before.close();
    expect(await bench.log().append(command("hello"))).toEqual({ ...first, repeated: true });
  });

  test("is recognised after its events were erased: they are there, and say nothing", async () => {
    const log = bench.log();
    await log.append(command("hello"));
    await log.erase({ occurredAt: noon, ranges: [{ first: 1, last: 1 }], reason: "forget", provenance: fromOwner });
    expect(await log.append(command("hello"))).toMatchObject({
      outcome: "appended",
      repeated: true,
      events: [{ position: 1, stream: "a", version: 1, type: "messageCommitted", payload: null, envelope: null }],
    });
    expect(log.head().position).toBe(2);
  });

  test("records once when all retries come at once", async () => {
    const log = bench.log();
    const results = await Promise.all(Array.from({ length: 20 }, () => log.append(command("hello"))));
    const repeated = results.map((result) => result.outcome === "appended" && result.repeated);
    expect(repeated).toEqual([false, ...Array.from({ length: 19 }, () => true)]);
    expect(results).toEqual(results.map((_, n) => ({ ...results[0], repeated: n > 0 })));
    expect(log.head().position).toBe(1);
  });

  test("records once when two processes send it", async () => {
    const [one, two] = [bench.log(), bench.log()];
    const results = await Promise.all([one, two, one, two].map((log) => log.append(command("hello"))));
    expect(results.filter((result) => result.outcome === "appended" && !result.repeated)).toHaveLength(1);
    expect(two.head().position).toBe(1);
  });

  test("may be tried again after a conflict: a conflict is not a record", async () => {
    const log = bench.log();
    const wrong = command("hello", appendOf(write("a", "exists", said("hello"))));
    expect(await log.append(wrong)).toMatchObject({ outcome: "version_conflict" });
    expect(await log.append(command("hello"))).toMatchObject({ outcome: "appended", repeated: false });
  });

  test("may be tried again after it could not be encoded", async () => {
    const log = bench.log();
    const unencodable = appendOf(write("a", "any", { case: "turnPaused", value: { stepsUsed: -1 } }));
    await expect(log.append(command("hello", unencodable))).rejects.toThrow();
    expect(await log.append(command("hello"))).toMatchObject({ outcome: "appended", repeated: false });
  });
});

describe("a key that was used to ask for something else", () => {
  test.each<[string, JsonValue, JsonValue]>([
    ["another text", { text: "a" }, { text: "b" }],
    ["a number instead of a text", { n: 1 }, { n: "1" }],
    ["a field more", { text: "a" }, { text: "a", role: null }],
    ["another order in a list", ["a", "b"], ["b", "a"]],
    ["nothing", { text: "a" }, null],
  ])("is a conflict, and nothing is recorded: %s", async (_what, asked, askedNow) => {
    const log = bench.log();
    await log.append(command(asked));
    const conflict = { outcome: "command_conflict", commandId: "key-1" };
    expect(log.recall({ id: "key-1", asked: askedNow })).toEqual(conflict);
    expect(await log.append(command(askedNow))).toEqual(conflict);
    expect(log.head().position).toBe(1);
  });

  test("is a conflict within one group, too, and its neighbours are recorded", async () => {
    const log = bench.log();
    const results = await Promise.all([
      log.append(command("hello")),
      log.append(command("other")),
      log.append(command("hello", appendOf(write("b", "any", said("hi"))), "key-2")),
    ]);
    expect(results.map(({ outcome }) => outcome)).toEqual(["appended", "command_conflict", "appended"]);
    expect(log.head().position).toBe(2);
  });

  test("is no conflict when the same was written in another order", async () => {
    const log = bench.log();
    await log.append(command({ a: 1, b: 2 }));
    expect(await log.append(command({ b: 2, a: 1 }))).toMatchObject({ outcome: "appended", repeated: true });
  });

  test("is a retry once the event was erased: nothing is left that tells what was asked", async () => {
    const log = bench.log();
    await log.append(command("hello"));
    await log.erase({ occurredAt: noon, ranges: [{ first: 1, last: 1 }], reason: "forget", provenance: fromOwner });
    expect(await log.append(command("other"))).toMatchObject({ outcome: "appended", repeated: true });
    expect(log.head().position).toBe(2);
  });
});

describe("recalling a command", () => {
  test("finds nothing where nothing was recorded", () => {
    expect(bench.log().recall({ id: "key-1", asked: "hello" })).toBeNull();
  });

  test("finds what appending again would answer", async () => {
    const log = bench.log();
    const first = await log.append(command("hello"));
    expect(log.recall({ id: "key-1", asked: "hello" })).toEqual({ ...first, repeated: true });
  });
});
