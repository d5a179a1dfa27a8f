import { beforeEach, describe, expect, test } from "@jest/globals";
import { AnswerInProgress } from "../../../infra/model/answer.js";
import { EventStream } from "../../../infra/model/event-stream.js";
import { failuresOf } from "../../../infra/model/failures.js";
import { growthOf, linearGrowthMax } from "../../support/growth.js";
import * as it from "../../support/model-server.js";
import { modelBench } from "./asking.js";

const bench = modelBench();
const kilobyte = "x".repeat(1_024);
const euros = "€".repeat(1_024); // Three bytes each: a limit in bytes is not one in characters.
const times = <T>(count: number, piece: T): T[] => Array.from({ length: count }, () => piece);

const tooMuch: readonly (readonly [string, it.Piece[], string])[] = [
  ["1 MB of text", it.text(...times(1_024, kilobyte)), "524288 bytes of text"],
  ["1 MB of text at once", it.text(kilobyte.repeat(1_024)), "524288 bytes of text"],
  ["text of wide characters", it.text(...times(171, euros)), "524288 bytes of text"],
  ["thinking", it.thinking(...times(1_025, kilobyte)), "1048576 bytes of thinking"],
  [
    "tool calls",
    Array.from({ length: 65 }, (_, index) => it.toolCall({ index, id: `call_${index}`, name: "clock" })),
    "64 tool calls",
  ],
  ["arguments of one call", times(1_025, it.toolCall({ index: 0, arguments: kilobyte })), "1048576 bytes of arguments"],
  [
    "arguments of several calls",
    [0, 1, 2].flatMap((index) => times(400, it.toolCall({ index, arguments: kilobyte }))),
    "1048576 bytes of arguments",
  ],
  ["a name", [it.toolCall({ index: 0, name: kilobyte })], "512 bytes for a tool's name or id"],
  ["an id", [it.toolCall({ index: 0, id: kilobyte })], "512 bytes for a tool's name or id"],
];

describe("a model that does not stop is stopped:", () => {
  test.each(tooMuch)("%s", async (_name, pieces, limit) => {
    bench.server.will(it.streams(pieces, it.hang));
    const error = await bench.refusal();
    expect(error).toMatchObject({ trouble: "malformed", message: `tester wrote more than ${limit}` });
    await bench.server.abandoned(1);
  });

  test("an event without end", async () => {
    bench.server.will(it.streams("data: ", times(5 * 1_024, kilobyte), it.hang));
    expect((await bench.refusal()).message).toBe("tester sent an event of more than 4194304 bytes");
    await bench.server.abandoned(1);
  });

  test("an answer that is all wrapping", async () => {
    const padded = it.event({ padding: kilobyte.repeat(1_024), choices: [] });
    bench.server.will(it.streams(times(70, padded), it.hang));
    expect((await bench.refusal()).message).toBe("tester sent more than 67108864 bytes");
    await bench.server.abandoned(1);
  });
});

describe("what a provider sends is read in a time that grows with it:", () => {
  const taken = (bytes: string) => new EventStream(failuresOf("tester", "")).take(Buffer.from(bytes));

  test.each(["\n", ":\n\n", ":\n", ": wait\r\n\r\n"])("nothing of %j is passed on", (piece) => {
    expect(taken(piece.repeat(1_000))).toEqual([]);
    expect(growthOf((size) => taken(piece.repeat(size)), 1_000)).toBeLessThan(linearGrowthMax);
  });

  test("events are passed on one by one, with the comments inside", () => {
    const [one, other] = [": wait\ndata: 1\n\n", "event: a\r\ndata: 2\r\n\r\n"];
    expect(taken(`\n${one}\n:\n\n${other}data: 3\n`).map(String)).toEqual([one, other]);
  });

  test.each([":\r\r\n\n", "data: 1\rdata: 2\n\n", "\rdata: 1\n\n"])(
    "a carriage return that ends no line is malformed, as the openai package ends one there: %j",
    (bytes) => {
      const message = "tester sent a line with a carriage return inside";
      for (let cut = 0; cut <= bytes.length; cut++) {
        const events = new EventStream(failuresOf("tester", ""));
        const pieces = [bytes.slice(0, cut), bytes.slice(cut)].map((piece) => Buffer.from(piece));
        expect(() => pieces.map((piece) => events.take(piece))).toThrow(message);
      }
    },
  );
});

describe("of a chunk, no more is looked at than is needed:", () => {
  const inProgress = () => new AnswerInProgress(failuresOf("tester", ""));
  let looks = 0;
  /** Something that notices when it is looked at. */
  const shy = {
    get delta() {
      return looks++;
    },
    get index() {
      return looks++;
    },
  };
  beforeEach(() => {
    looks = 0;
  });

  test("the first choice", () => {
    expect(inProgress().add({ choices: [{ delta: { content: "Yes." } }, shy] })).toEqual([
      { kind: "text", text: "Yes." },
    ]);
    expect(looks).toBe(0);
  });

  test("calls, if they are not too many", () => {
    const calling = (count: number) => ({ choices: [{ delta: { tool_calls: times(count, shy) } }] });
    expect(() => inProgress().add(calling(65))).toThrow("no chat completion");
    expect(looks).toBe(0);
    inProgress().add(calling(64));
    expect(looks).toBeGreaterThan(0);
  });
});

describe("a model that says much is heard:", () => {
  test("half a megabyte of text and a megabyte of arguments", async () => {
    const finished = [it.finish("stop"), it.usage(), it.done];
    const args = times(1_024, it.toolCall({ index: 0, id: "call_1", name: "artifact_put", arguments: kilobyte }));
    bench.server.will(it.streams(it.text(...times(512, kilobyte)), args, finished));
    const answer = await bench.ask();
    expect(answer.text).toBe(kilobyte.repeat(512));
    expect(answer.toolCalls[0]!.argumentsJson).toBe(kilobyte.repeat(1_024));
  });
});
