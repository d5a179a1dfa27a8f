import { beforeEach, describe, expect, test } from "@jest/globals";
import { Growth, type SqliteEventLog } from "../../../infra/event-log/index.js";
import { watch, type Watching } from "../../../infra/rpc/watch.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { appendOf, record, write } from "../../support/appends.js";
import { forget } from "../../support/conversation.js";
import { said, threadCreated } from "../../support/facts.js";
import { take } from "../../support/watcher.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
let log: SqliteEventLog;
let growth: Growth;
let leaving: AbortController;
let gaps: number;

beforeEach(async () => {
  log = bench.log();
  growth = bench.closing(new Growth(log));
  leaving = new AbortController();
  gaps = 0;
  await record(log, appendOf(write("t", "no_stream", threadCreated, said("two"), said("three"), said("four"))));
});

function open(
  threadId: string | null,
  from: number,
  heartbeatMillis = 60_000,
  different: Partial<Watching> = {},
): AsyncGenerator<ThreadEvent> {
  const watching: Watching = {
    log,
    growth,
    asJson: true,
    signal: leaving.signal,
    heartbeatMillis,
    isSameLog: true,
    onSent: () => undefined,
    onGap: () => {
      gaps += 1;
    },
    ...different,
  };
  return watch(threadId, from, watching);
}

/** What the messages are: a sequence, or what is said about the stream itself. */
function told(messages: readonly ThreadEvent[]): (number | string)[] {
  return messages.map(({ payload, sequence }) => {
    if (payload.case === "heartbeat") return payload.value.upToDate ? "up to date" : "heartbeat";
    if (payload.case === "streamGap") return `gap, next ${payload.value.nextAvailableSequence}`;
    return Number(sequence);
  });
}

describe("a stream says", () => {
  test("something at once, and that it is up to date when replay has ended", async () => {
    expect(told(await take(open("t", 0), 6))).toEqual(["heartbeat", 1, 2, 3, 4, "up to date"]);
    expect(told(await take(open("t", 2), 4))).toEqual(["heartbeat", 3, 4, "up to date"]);
    expect(told(await take(open("t", 4), 1))).toEqual(["up to date"]);
    expect(told(await take(open(null, 3), 3))).toEqual(["heartbeat", 4, "up to date"]);
  });

  test("once that replay has ended, also if the log grows in that moment", async () => {
    const stream = open("t", 4);
    const first = await take(stream, 1);
    await record(log, appendOf(write("t", "any", said("five"))));
    const second = await take(stream, 1);
    const third = take(stream, 1);
    await record(log, appendOf(write("t", "any", said("six"))));
    expect(told([...first, ...second, ...(await third)])).toEqual(["up to date", 5, 6]);
  });

  test("where the log ends, with a hash that it has there, and which log it is", async () => {
    const [first] = await take(open("t", 0), 1);
    await record(log, appendOf(write("u", "any", threadCreated)));
    const [second] = await take(open("t", 4), 1);
    const values = [first, second].map((message) => message?.payload.value);
    const head = (position: number) => Buffer.from(log.hashAt(position)!, "hex");
    const logEpoch = log.epoch();
    expect(logEpoch).not.toBe("");
    expect(values).toMatchObject([
      { latestSequence: 4n, headPosition: 4n, headHash: head(4), logEpoch },
      { latestSequence: 4n, headPosition: 5n, headHash: head(5), logEpoch },
    ]);
  });

  test("while nothing happens that it is still there, and that it waits only then", async () => {
    const stream = open("t", 4, 1);
    expect(told(await take(stream, 4))).toEqual(["up to date", "up to date", "up to date", "up to date"]);
    expect(growth.waiting).toBe(0);
    const next = stream.next();
    leaving.abort(null);
    expect((await next).done).toBe(true);
    expect(growth.waiting).toBe(0);
  });

  test("nothing more once it has ended, with the reason if there is one", async () => {
    const stream = open("t", 4);
    await take(stream, 1);
    const next = stream.next();
    expect(growth.waiting).toBe(1);
    leaving.abort(new Error("because"));
    await expect(next).rejects.toThrow("because");
    expect(growth.waiting).toBe(0);
  });
});

describe("a gap", () => {
  test("is told when the cursor is above the head, because the log is another one", async () => {
    expect(told(await take(open("t", 5), 9))).toEqual(["gap, next 1"]);
    expect(told(await take(open(null, 99), 9))).toEqual(["gap, next 1"]);
    expect(gaps).toBe(2);
  });

  test("is told where events were erased; one goes on behind it", async () => {
    await forget({ log }, 2, 3);
    expect(told(await take(open("t", 0), 9))).toEqual(["heartbeat", 1, "gap, next 4"]);
    expect(told(await take(open("t", 2), 9))).toEqual(["heartbeat", "gap, next 4"]);
    expect(told(await take(open("t", 3), 3))).toEqual(["heartbeat", 4, "up to date"]);
    await forget({ log }, 4);
    expect(told(await take(open("t", 3), 9))).toEqual(["heartbeat", "gap, next 5"]);
    expect(told(await take(open("t", 4), 1))).toEqual(["up to date"]);
  });

  test("is told to a slow reader who has not come to what was erased meanwhile: it is not sent from memory", async () => {
    const stream = open("t", 0);
    expect(told(await take(stream, 2))).toEqual(["heartbeat", 1]);
    await forget({ log }, 3);
    expect(told(await take(stream, 9))).toEqual([2, "gap, next 4"]);
  });

  test("is none for who watches the whole log: erased events come without what they said", async () => {
    await forget({ log }, 2, 3);
    const messages = await take(open(null, 0), 7);
    expect(messages.map(({ position, payload }) => [Number(position), payload.case])).toEqual([
      [0, "heartbeat"],
      [1, "threadCreated"],
      [2, undefined],
      [3, undefined],
      [4, "messageCommitted"],
      [5, "eventsErased"],
      [0, "heartbeat"],
    ]);
    expect(messages[2]).toMatchObject({ threadId: "t", stream: "t", sequence: 2n, version: 2n });
    expect(gaps).toBe(0);
  });
});

describe("a stream of which a client gets only some", () => {
  test("passes on what is chosen, and ends with the last of it", async () => {
    const isThird = (event: Uint8Array) => Buffer.from(event).includes("three");
    const stream = open("t", 0, 60_000, { choose: (event) => (isThird(event) ? "last" : "skip") });
    const messages: ThreadEvent[] = [];
    for await (const message of stream) messages.push(message);
    expect(told(messages)).toEqual(["heartbeat", 3]);
  });

  test("lets others have their turn while it skips the rest, page after page", async () => {
    const many = Array.from({ length: 900 }, (_, index) => said(`message ${index}`));
    await record(log, appendOf(write("t", "any", ...many)));
    const stream = open("t", 0, 60_000, { choose: () => "skip" });
    await take(stream, 1);
    let turns = 0;
    let isSkipping = true;
    const count = () => {
      turns += 1;
      if (isSkipping) setImmediate(count);
    };
    setImmediate(count);
    await stream.next();
    isSkipping = false;
    expect(turns).toBeGreaterThan(3);
  });
});
