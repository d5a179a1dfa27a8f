import { beforeEach, describe, expect, test } from "@jest/globals";
import { listMessages, listThreads } from "../../../read-models/threads/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { said, threadCreated } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
let backend: Backend;

// Threads t-0 to t-6 in this order, each with the messages "<thread> 0" to "<thread> 4".
beforeEach(async () => {
  backend = await bench.backend();
  for (let thread = 0; thread < 7; thread++) {
    const messages = Array.from({ length: 5 }, (_, n) => said(`t-${thread} ${n}`));
    await record(backend.log, appendOf(write(`t-${thread}`, "any", threadCreated, ...messages)));
  }
});

describe("page after page", () => {
  test("of threads shows each once, the one with the latest news first", async () => {
    await record(backend.log, appendOf(write("t-3", "any", said("news"))));
    const pages: string[][] = [];
    for (let beforePosition = Number.MAX_SAFE_INTEGER; ;) {
      const rows = await listThreads(backend.store.query, { beforePosition, limit: 3 });
      if (rows.length === 0) break;
      pages.push(rows.map((row) => row.thread_id));
      beforePosition = rows.at(-1)!.position;
    }
    expect(pages).toEqual([["t-3", "t-6", "t-5"], ["t-4", "t-2", "t-1"], ["t-0"]]);
  });

  test("of messages shows each once, oldest first, and those of one thread only", async () => {
    const pages: string[][] = [];
    for (let afterPosition = 0; ;) {
      const rows = await listMessages(backend.store.query, { threadId: "t-2", afterPosition, limit: 2 });
      if (rows.length === 0) break;
      pages.push(rows.map((row) => row.content));
      afterPosition = rows.at(-1)!.position;
    }
    expect(pages).toEqual([["t-2 0", "t-2 1"], ["t-2 2", "t-2 3"], ["t-2 4"]]);
  });

  test("of a thread that is not there shows nothing", async () => {
    const nobody = { threadId: "nobody", afterPosition: 0, limit: 10 };
    expect(await listMessages(backend.store.query, nobody)).toEqual([]);
  });
});
