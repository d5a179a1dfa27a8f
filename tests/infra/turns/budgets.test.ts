import { beforeEach, describe, expect, test } from "@jest/globals";
import { day, toInstant } from "../../../domain/shared/index.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import * as it from "../../support/model-server.js";
import { Weather, weatherIn } from "../../support/test-tools.js";
import { callsIn, endOf, textsIn, valuesOf } from "../../support/turn-client.js";
import { movableClock, type MovableClock } from "../rpc/movable-clock.js";
import { turnBench } from "./turn-bench.js";

const bench = turnBench();
/** A question takes so much until it is known what it has cost: a short one, and the longest answer. */
const oneQuestion = 12_000;
const spent = "DAILY_TOKEN_BUDGET_EXCEEDED";
let clock: MovableClock;

beforeEach(() => {
  clock = movableClock();
});

const saying = (text: string, prompt_tokens: number, completion_tokens: number) =>
  it.streams(it.text(text), it.finish("stop"), it.usage({ prompt_tokens, completion_tokens }), it.done);

function midnightAfter(event: ThreadEvent): number {
  return (Math.floor(toInstant(event.occurredAt!) / day) + 1) * day;
}

describe("the day's tokens", () => {
  test("are never more than there are: a question that does not fit is not asked", async () => {
    await bench.start({ clock, tokensPerDay: 8_192 });
    const threadId = await bench.newThread();
    const events = await bench.say(threadId, "Hello?");
    const [failed] = valuesOf(events, "turnFailed");
    expect(failed).toMatchObject({
      code: spent,
      retryable: true,
      message: "The day's tokens are spent.",
    });
    expect(toInstant(failed!.retryAt!)).toBe(midnightAfter(events.at(-1)!));
    expect(callsIn(events)).toEqual([]);
    expect(bench.model.requests).toEqual([]);
  });

  test("are spent when a model has counted them, and not before: what was reserved is free again", async () => {
    await bench.start({ clock, tokensPerDay: oneQuestion });
    const threadId = await bench.newThread();
    for (let turn = 0; turn < 3; turn++) await bench.goesOn(threadId);
    bench.model.will(saying("That was dear.", 9_000, 1_000));
    expect(endOf(await bench.say(threadId, "Think hard."))).toBe("completed");
    expect(endOf(await bench.say(threadId, "And again?"))).toBe(spent);
    expect(bench.model.requests).toHaveLength(4);
  });

  test("are not spent by a model that has failed before it read anything", async () => {
    await bench.start({ clock, hasFallback: false, tokensPerDay: oneQuestion });
    for (let turn = 0; turn < 3; turn++) {
      expect(endOf(await bench.turnWith(it.fails(400)))).toBe("MODEL_REJECTED");
    }
  });

  test.each<[string, it.Piece, number]>([
    ["text", it.text("word ".repeat(3_000))[0]!, 5_000],
    ["thinking", it.thinking("word ".repeat(3_000))[0]!, 5_000],
    ["a call", it.toolCall({ index: 0, id: "1", name: "artifact_put", arguments: "word ".repeat(3_000) }), 5_000],
    ["nothing at all", it.event({ choices: [] }), 0],
  ])("are spent by an answer that breaks off after so much: %s", async (_what, piece, outputTokens) => {
    await bench.start({ clock, hasFallback: false });
    const broken = it.streams(piece, it.event({ error: { code: 503, message: "overloaded" } }));
    const events = await bench.turnWith(broken, it.says("Here I am."));
    expect(callsIn(events)).toEqual(["primary unavailable", "primary finished"]);
    const [asked] = valuesOf(events, "modelCallStarted");
    const inputTokens = Number(asked!.reservedTokens) - 8_192;
    const chargedTokens = BigInt(outputTokens === 0 ? 0 : inputTokens + outputTokens);
    expect(valuesOf(events, "modelCallFailed")).toMatchObject([{ chargedTokens }]);
  });

  test("are spent by an answer that is cut off inside a call", async () => {
    await bench.start({ clock, hasFallback: false });
    const call = it.toolCall({ index: 0, id: "1", name: "artifact_put", arguments: "word ".repeat(3_000) });
    const events = await bench.turnWith(it.streams(call, it.reset), it.says("Here I am."));
    const [asked] = valuesOf(events, "modelCallStarted");
    const chargedTokens = asked!.reservedTokens - 8_192n + 5_000n;
    expect(valuesOf(events, "modelCallFailed")).toMatchObject([{ chargedTokens }]);
  });

  test("are spent by an answer that could not be used as by any other", async () => {
    await bench.start({ clock, tokensPerDay: 3 * oneQuestion });
    const threadId = await bench.newThread();
    bench.model.will(saying(" ", 19_000, 1_000), saying("That was dear.", 9_000, 1_000));
    const events = await bench.say(threadId, "Think hard.");
    expect(valuesOf(events, "modelOutputRepairAttempted")).toHaveLength(1);
    expect(endOf(events)).toBe("completed");
    expect(endOf(await bench.say(threadId, "And again?"))).toBe(spent);
  });

  test("may end a turn after its tool", async () => {
    const weather = new Weather();
    await bench.start({ clock, tokensPerDay: 2 * oneQuestion, tools: [weather.tool] });
    const threadId = await bench.newThread();
    const usage = it.usage({ prompt_tokens: 20_000, completion_tokens: 1_000 });
    bench.model.will(
      it.streams(it.toolCall({ index: 0, ...weatherIn("Bern") }), it.finish("tool_calls"), usage, it.done),
    );
    const events = await bench.say(threadId, "Weather?");
    expect(weather.runs).toBe(1);
    expect(endOf(events)).toBe(spent);
    expect(bench.model.requests).toHaveLength(1);
  });

  test("are not spent twice by two turns at once", async () => {
    await bench.start({ clock, tokensPerDay: oneQuestion });
    const [one, other] = [await bench.newThread(), await bench.newThread()];
    const answer = it.gate();
    bench.model.will(it.streams(it.text("Yes"), answer.opened, it.text("."), it.finish("stop"), it.usage(), it.done));
    const turns = [bench.begin(one, "Me?"), bench.begin(other, "Or me?")];
    const refused = await Promise.race(turns.map((turn) => bench.ended(turn)));
    expect(endOf(refused)).toBe(spent);
    expect(callsIn(refused)).toEqual([]);
    answer.open();
    const outcomes = await Promise.all(turns.map(async (turn) => endOf(await bench.ended(turn))));
    expect(outcomes.sort()).toEqual([spent, "completed"]);
    expect(bench.model.requests).toHaveLength(1);
    // There was not enough for both at once; one after the other there is.
    await bench.goesOn(one);
    await bench.goesOn(other);
  });

  test("stay spent when the server starts again, and are renewed at midnight, UTC", async () => {
    await bench.start({ clock, tokensPerDay: 2 * oneQuestion });
    const threadId = await bench.newThread();
    bench.model.will(saying("That was dear.", 20_000, 1_000));
    expect(endOf(await bench.say(threadId, "Think hard."))).toBe("completed");
    await bench.stop();
    await bench.start();
    const events = await bench.say(threadId, "And again?");
    expect(endOf(events)).toBe(spent);
    expect(bench.model.requests).toHaveLength(1);

    const untilMidnight = midnightAfter(events.at(-1)!) - clock.now();
    clock.forward(untilMidnight - 1);
    expect(endOf(await bench.say(threadId, "Still?"))).toBe(spent);
    clock.forward(1);
    await bench.goesOn(threadId);
  });

  test("of a question that the server was stopped in are spent: nobody knows what it has cost", async () => {
    await bench.start({ clock, tokensPerDay: 2 * oneQuestion });
    const threadId = await bench.newThread();
    bench.model.will(it.hangsBeforeHead, it.says("Here you are."));
    bench.begin(threadId, "Hello?", { clientMessageId: "1" });
    await bench.model.asked(1);
    await bench.stop();
    await bench.start();
    const events = await bench.say(threadId, "Hello?", { clientMessageId: "1" });
    expect(textsIn(events)).toEqual(["Here you are."]);
    const [asked] = valuesOf(events, "modelCallStarted");
    expect(valuesOf(events, "modelCallFailed")).toMatchObject([
      { reason: "server_stopped", chargedTokens: asked!.reservedTokens },
    ]);
    bench.model.will(saying("That was dear.", 10_000, 1_000));
    expect(endOf(await bench.say(threadId, "Think."))).toBe("completed");
    expect(endOf(await bench.say(threadId, "And again?"))).toBe(spent);
  });
});
