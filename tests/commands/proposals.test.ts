import { describe, expect, test } from "@jest/globals";
import { handle, type Command, type Proposal } from "../../commands/handle.js";
import { accept, nothing, refuse, type Decision, type Fact } from "../../domain/shared/index.js";
import { noon } from "../support/appends.js";
import { fromOwner, type Backend } from "../support/backend.js";
import { contended } from "../support/contended.js";
import { delta } from "../support/facts.js";
import { workbench } from "../support/workbench.js";

const bench = workbench();
const done = { outcome: "done", events: [] };

const count = (events: number, _fact: Fact): number => events + 1;
const says = (text: string) => accept(delta(text));

function propose(stream: string, decision: Decision, more: Partial<Proposal> = {}): Proposal {
  return { stream, threadId: null, provenance: fromOwner, decision, ...more };
}

function commandOf(...proposals: readonly Proposal[]): Command {
  return { at: noon, decide: () => proposals };
}

function textsIn(backend: Backend, stream: string): unknown[] {
  return backend.log.readStream(stream, 0, 100).map(({ payload }) => payload && "delta" in payload && payload.delta);
}

describe("a command with several proposals", () => {
  test("records all of them together, in their order", async () => {
    const backend = await bench.backend();
    const command = commandOf(propose("s", says("a")), propose("t", says("b")), propose("u", accept()));
    expect(await handle(backend, command)).toMatchObject({
      outcome: "done",
      events: [
        { position: 1, stream: "s", version: 1, payload: { delta: "a" } },
        { position: 2, stream: "t", version: 1, payload: { delta: "b" } },
      ],
    });
    expect(backend.log.head().position).toBe(2);
  });

  test("records the same stream several times in the order of the proposals", async () => {
    const backend = await bench.backend();
    await handle(backend, commandOf(propose("s", says("a"))));
    const reading: Command = {
      at: noon,
      decide: (load) => {
        const events = load("s", 0, count);
        return [propose("s", says(`b after ${events}`)), propose("t", says("c")), propose("s", says("d"))];
      },
    };
    const handled = await handle(backend, reading);
    expect(handled).toMatchObject({ events: [{ version: 2 }, { stream: "t", version: 1 }, { version: 3 }] });
    expect(textsIn(backend, "s")).toEqual(["a", "b after 1", "d"]);
  });

  test("keeps who says each, and in which thread", async () => {
    const backend = await bench.backend();
    const other = { ...fromOwner, turnId: "turn-1" };
    const command = commandOf(
      propose("s", says("a"), { threadId: "thread-1" }),
      propose("t", says("b"), { threadId: "thread-2", provenance: other }),
    );
    expect(await handle(backend, command)).toMatchObject({
      events: [
        { threadId: "thread-1", sequence: 1, envelope: { turnId: "" } },
        { threadId: "thread-2", sequence: 1, envelope: { turnId: "turn-1" } },
      ],
    });
  });

  test.each([
    ["first", [refuse("text_empty"), says("a"), says("b")]],
    ["in the middle", [says("a"), refuse("text_empty"), nothing]],
    ["last", [says("a"), says("b"), refuse("text_empty")]],
  ])("records none of them, if one is refused, be it %s", async (_where, decisions) => {
    const backend = await bench.backend();
    const command = commandOf(...decisions.map((decision, index) => propose(`s${index}`, decision)));
    expect(await handle(backend, command)).toEqual({ outcome: "refused", code: "text_empty", facts: {} });
    expect(backend.log.head().position).toBe(0);
  });

  test("answers with the first refusal, if there are several", async () => {
    const backend = await bench.backend();
    const command = commandOf(propose("s", refuse("text_empty")), propose("t", refuse("thread_deleted")));
    expect(await handle(backend, command)).toMatchObject({ code: "text_empty" });
  });

  test("has nothing to record, if none of them has", async () => {
    const backend = await bench.backend();
    expect(await handle(backend, commandOf(propose("s", nothing), propose("t", nothing)))).toEqual(done);
    expect(await handle(backend, commandOf())).toEqual(done);
    expect(backend.log.head().position).toBe(0);
  });

  test("keeps and forgets the secrets of all of them", async () => {
    const backend = await bench.backend();
    const keep = (id: string) => ({ id, value: new TextEncoder().encode(id) });
    await handle(backend, commandOf(propose("s", says("a"), { secrets: { keep: [keep("old")], forget: [] } })));
    const command = commandOf(
      propose("s", says("b"), { secrets: { keep: [keep("one")], forget: ["old"] } }),
      propose("t", says("c")),
      propose("u", nothing, { secrets: { keep: [keep("two")], forget: [] } }),
    );
    expect(await handle(backend, command)).toMatchObject({ outcome: "done" });
    const known = ["old", "one", "two"].map((id) => backend.log.secret(id) !== null);
    expect(known).toEqual([false, true, true]);
  });

  test("is decided anew as a whole, when somebody else was faster with any stream it has read", async () => {
    const backend = await bench.backend();
    const meddle = () => handle(backend, commandOf(propose("t", says("x"))));
    const log = contended(backend.log, 2, meddle);
    const command: Command = {
      at: noon,
      decide: (load) => [
        propose("s", says(`${load("s", 0, count)}`)),
        propose("u", says(`after ${load("t", 0, count)}`)),
      ],
    };
    expect(await handle({ ...backend, log }, command)).toMatchObject({ outcome: "done" });
    expect(["s", "t", "u"].map((stream) => textsIn(backend, stream))).toEqual([["0"], ["x", "x"], ["after 2"]]);
  });

  test("is answered with the events of all of them, when its key is used again", async () => {
    const backend = await bench.backend();
    const command = { ...commandOf(propose("s", says("a")), propose("t", says("b"))), key: { id: "key", asked: "" } };
    const first = await handle(backend, command);
    expect(first).toMatchObject({ events: [{ stream: "s" }, { stream: "t" }] });
    expect(await handle(backend, command)).toEqual(first);
    expect(backend.log.head().position).toBe(2);
  });
});
