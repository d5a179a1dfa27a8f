import { describe, expect, test } from "@jest/globals";
import type { Projector } from "../../../infra/projector/index.js";
import { projections } from "../../../projections/index.js";
import type { Projection } from "../../../projections/shared/projection.js";
import { appendOf, record, write } from "../../support/appends.js";
import { differences, open, say, textsIn } from "../../support/conversation.js";
import { delta, said } from "../../support/facts.js";
import { tamper } from "../../support/raw-log.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** The messages' projection fails at a message that says so; it has written something before it does. */
const fragile: readonly Projection[] = projections.map((projection) => ({
  ...projection,
  on: {
    ...projection.on,
    messageCommitted: (event, write) => {
      projection.on.messageCommitted?.(event, write);
      if (projection.name === "messages" && event.payload?.text === "fail") throw new Error("the handler failed");
    },
  },
}));

function stopOf(projector: Projector): Promise<unknown> {
  return new Promise((resolve) => projector.stopped.subscribe({ error: resolve }));
}

describe("a projection whose handler throws", () => {
  test("stops loudly: whoever waits is told, with the position", async () => {
    const backend = await bench.backend(fragile);
    const stopped = stopOf(backend.projector);
    await open(backend, "t");
    const complaint = "projection messages failed at position 2 of the log";
    await expect(say(backend, "t", "fail")).rejects.toThrow(complaint);
    await expect(backend.projector.reached(1)).rejects.toThrow(complaint);
    await expect(backend.projector.reached(2)).rejects.toThrow(complaint);
    expect(await stopped).toMatchObject({
      message: expect.stringContaining(complaint),
      cause: { message: "the handler failed" },
    });
  });

  test("does not undo the append", async () => {
    const backend = await bench.backend(fragile);
    await record(backend.log, appendOf(write("t", "any", said("one"))));
    expect(await record(backend.log, appendOf(write("t", 1, said("fail"))))).toMatchObject([{ position: 2 }]);
    expect(await record(backend.log, appendOf(write("t", 2, said("two"))))).toMatchObject([{ position: 3 }]);
    expect(backend.log.readStream("t", 0, 10)).toHaveLength(3);
  });

  test("leaves no half of an event behind, and goes on once it is mended", async () => {
    const backend = await bench.backend(fragile);
    await open(backend, "t");
    await say(backend, "t", "before");
    await expect(say(backend, "t", "fail")).rejects.toThrow();
    backend.close();
    const mended = await bench.backend();
    await say(mended, "t", "after");
    expect(await textsIn(mended, "t")).toEqual(["before", "fail", "after"]);
    expect(await differences(mended)).toEqual([]);
  });

  test("does not start, either", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    await say(backend, "t", "fail");
    backend.close();
    const newer = fragile.map((projection) => ({ ...projection, version: 2 }));
    await expect(bench.backend(newer)).rejects.toThrow("projection messages failed at position 2 of the log");
    expect(await textsIn(await bench.backend(), "t")).toEqual(["fail"]);
  });
});

describe("an event of a type that nobody knows", () => {
  test("stops a rebuild, which names file and position", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    await record(backend.log, appendOf(write("t", "any", delta("x"), said("after"))));
    tamper(bench.path, (db) => db.exec("UPDATE events SET type = 'dreamDreamt' WHERE position = 2"));
    const complaint = `${backend.log.file}, position 2: event type "dreamDreamt" is not known to this version`;
    await expect(differences(backend)).rejects.toThrow(complaint);
  });

  test("that another process appends stops the projector", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    const stopped = stopOf(backend.projector);
    tamper(bench.path, (db) => {
      const columns =
        "event_id, 'dream', 1, NULL, NULL, 'dreamDreamt', NULL, NULL, NULL, occurred_at, event, salt, digest, hash";
      db.exec(`INSERT INTO events SELECT 2, ${columns} FROM events`);
    });
    await expect(backend.projector.reached(2)).rejects.toMatchObject({ trouble: "foreign", position: 2 });
    expect(await stopped).toMatchObject({ trouble: "foreign", position: 2, file: backend.log.file });
  });
});

describe("a projector that was closed", () => {
  test("follows no longer", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    backend.projector.close();
    await record(backend.log, appendOf(write("t", "any", said("one"))));
    expect(await textsIn(backend, "t")).toEqual([]);
    await expect(backend.projector.reached(2)).rejects.toThrow();
  });
});

describe("a log that has failed", () => {
  test("stops the projector: nothing more will come", async () => {
    const backend = await bench.backend();
    const stopped = stopOf(backend.projector);
    tamper(bench.path, (db) => db.exec("DROP TABLE events"));
    await expect(record(backend.log, appendOf(write("t", "any", said("lost"))))).rejects.toThrow();
    expect(await stopped).toMatchObject({ trouble: "failed", file: backend.log.file });
  });
});
