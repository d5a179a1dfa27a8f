import { expect, test } from "@jest/globals";
import type { Projection } from "../../../projections/shared/projection.js";
import { messages, threads } from "../../../read-models/threads/index.js";
import { table } from "../../../read-models/shared/table.js";
import { appendOf, record, write } from "../../support/appends.js";
import { threadCreated, titled } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

test("a handler that writes to another projection's table is stopped, and told which", async () => {
  const meddling: Projection = {
    name: "meddling",
    version: 1,
    tables: [messages],
    on: {
      threadCreated: (_event, pen) => {
        pen.delete(threads, { thread_id: "t" });
      },
    },
  };
  const backend = await bench.backend([meddling]);
  await record(backend.log, appendOf(write("t", "any", threadCreated)));
  const complaint =
    'projection meddling failed at position 1 of the log (Error: table "threads" is not one of its own)';
  await expect(backend.projector.reached(1)).rejects.toThrow(complaint);
});

test("null in a key means the rows where it is null", async () => {
  const notes = table("notes", { position: "integer", title: "text?" }, { primaryKey: ["position"] });
  const untitled: Projection = {
    name: "notes",
    version: 1,
    tables: [notes],
    on: {
      threadCreated: ({ position }, pen) => {
        pen.insert(notes, { position, title: null });
      },
      threadTitled: ({ payload }, pen) => {
        pen.update(notes, { title: null }, { title: payload?.title ?? null });
      },
    },
  };
  const { log, store } = await bench.backend([untitled]);
  await record(log, appendOf(write("t", "any", threadCreated, titled("First"), titled("Second"))));
  expect(store.db.prepare("SELECT title FROM notes").pluck().all()).toEqual(["First"]);
});
