import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Client } from "@connectrpc/connect";
import { appendTo, openTestLog } from "../../support/backend.js";
import { DevicesService } from "../../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { said } from "../../support/facts.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { loggedEvents } from "./logged-events.js";
import { refusedBy } from "./protocols.js";

const bench = workbench();
const notFound = { code: "NotFound", refusal: "thread_not_found", facts: {} };
const badToken = { code: "InvalidArgument", refusal: "page_token_invalid" };
let server: TestServer;
let threads: Client<typeof ThreadsService>;

beforeEach(async () => {
  server = await startServer(bench.path);
  threads = server.client(ThreadsService, (await server.pair()).token);
});
afterEach(() => server.stop());

async function create(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made++) ids.push((await threads.createThread({})).threadId);
  return ids;
}

/** Messages, written as another process would: there is no RPC yet that says something. */
async function say(threadId: string, ...texts: string[]): Promise<void> {
  const log = openTestLog(bench.path);
  await log.append(appendTo(`thread-${threadId}`, threadId, ...texts.map((text) => said(text))));
  log.close();
  await create(1); // What was created is shown when it is answered, and so is what was there before it.
}

async function pagesOf(pageSize: number, between: () => Promise<unknown> = async () => undefined) {
  const pages: string[][] = [];
  let pageToken = "";
  do {
    const { items, nextPageToken } = await threads.listThreads({ pageSize, pageToken });
    pages.push(items.map(({ threadId }) => threadId));
    pageToken = nextPageToken;
    await between();
  } while (pageToken !== "");
  return pages;
}

describe("threads", () => {
  test("are created, shown empty, and listed newest first", async () => {
    const { threadId, lastSequence } = await threads.createThread({});
    expect(lastSequence).toBe(1n);
    expect(await threads.getThreadSnapshot({ threadId })).toMatchObject({ threadId, lastSequence: 1n, messages: [] });
    const [second] = await create(1);
    expect((await threads.listThreads({})).items).toMatchObject([
      { threadId: second, title: "", messageCount: 0 },
      { threadId, title: "", messageCount: 0 },
    ]);
  });

  test("are deleted once: the second time changes nothing, and then they are not found", async () => {
    const [threadId] = await create(1);
    await threads.deleteThread({ threadId: threadId! });
    const before = (await loggedEvents(server)).length;
    await threads.deleteThread({ threadId: threadId! });
    expect(await loggedEvents(server)).toHaveLength(before);
    expect(await refusedBy(threads.getThreadSnapshot({ threadId: threadId! }))).toEqual(notFound);
    expect((await threads.listThreads({})).items).toEqual([]);
  });

  test.each(["", "nobody's", "../../etc/passwd", "x".repeat(100_000), "\0", "🦀"])(
    "nobody knows are not found",
    async (threadId) => {
      expect(await refusedBy(threads.getThreadSnapshot({ threadId }))).toEqual(notFound);
      expect(await refusedBy(threads.listThreadMessages({ threadId }))).toEqual(notFound);
      expect(await refusedBy(threads.deleteThread({ threadId }))).toEqual(notFound);
    },
  );
});

describe("pages", () => {
  test("of no size are of the default one, and none is larger than the largest", async () => {
    const made = await create(210);
    expect((await threads.listThreads({})).items).toHaveLength(50);
    expect((await threads.listThreads({ pageSize: 1 })).items).toMatchObject([{ threadId: made.at(-1) }]);
    expect((await threads.listThreads({ pageSize: 2 ** 32 - 1 })).items).toHaveLength(200);
    expect((await pagesOf(70)).map((page) => page.length)).toEqual([70, 70, 70]);
    expect((await pagesOf(100)).flat()).toEqual(made.reverse());
  });

  test("go on where the last one ended, whatever was inserted meanwhile", async () => {
    const made = await create(9);
    const pages = await pagesOf(2, () => create(1));
    expect(pages.flat()).toEqual(made.reverse());
  });

  test("survive the deletion of what they ended with", async () => {
    const made = (await create(4)).reverse();
    const { nextPageToken: pageToken } = await threads.listThreads({ pageSize: 2 });
    await threads.deleteThread({ threadId: made[1]! });
    const { items } = await threads.listThreads({ pageSize: 2, pageToken });
    expect(items.map(({ threadId }) => threadId)).toEqual(made.slice(2));
  });

  test("of messages are in their order", async () => {
    const [threadId] = await create(1);
    await say(threadId!, "one", "two", "three");
    const first = await threads.listThreadMessages({ threadId: threadId!, pageSize: 2 });
    expect(first.items.map(({ content }) => content)).toEqual(["one", "two"]);
    const rest = await threads.listThreadMessages({ threadId: threadId!, pageToken: first.nextPageToken });
    expect(rest).toMatchObject({ items: [{ content: "three", role: "user" }], nextPageToken: "", lastSequence: 4n });
    const { messages } = await threads.getThreadSnapshot({ threadId: threadId! });
    expect(messages.map(({ content }) => content)).toEqual(["one", "two", "three"]);
  });

  test("are not reached by the token of another list, nor by garbage", async () => {
    const [one, other] = await create(2);
    await say(one!, "a", "b");
    const { nextPageToken: ofThreads } = await threads.listThreads({ pageSize: 1 });
    const { nextPageToken: ofMessages } = await threads.listThreadMessages({ threadId: one!, pageSize: 1 });
    expect([ofThreads, ofMessages]).not.toContain("");
    const devices = server.operator(DevicesService);
    expect(await refusedBy(devices.listDevices({ pageToken: ofThreads }))).toMatchObject(badToken);
    expect(await refusedBy(threads.listThreads({ pageToken: ofMessages }))).toMatchObject(badToken);
    const elsewhere = { threadId: other!, pageToken: ofMessages };
    expect(await refusedBy(threads.listThreadMessages(elsewhere))).toMatchObject(badToken);
    const forged = (text: string) => Buffer.from(text).toString("base64url");
    for (const pageToken of [
      "garbage",
      "%",
      "A".repeat(100_000),
      ...["threads:", "threads:-1", "threads:1e9", "threads:NaN", "threads:1:2", "threads:99999999999999999999"].map(
        forged,
      ),
      ...["threads:9999999999999999", "threads: 1", "threads:0x10", "threads:1 OR 1=1", ":1", "Threads:1"].map(forged),
      ...['["threads"]', '["threads",-1]', '["threads",1.5]', '["threads",1e999]', '["threads","1"]', "null"].map(
        forged,
      ),
      ...['["Threads",1]', '["threads",1,2]', '["threads",null]', '["threads",{}]', '{"0":"threads","1":1}'].map(
        forged,
      ),
      ...['["threads",9007199254740993]', "[".repeat(50_000), '["threads",[1]]', '["threads",1'].map(forged),
    ]) {
      expect(await refusedBy(threads.listThreads({ pageToken }))).toMatchObject(badToken);
    }
  });
});
