import { describe, expect, test } from "@jest/globals";
import { Code } from "@connectrpc/connect";
import { second, toInstant } from "../../../domain/shared/index.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { QueueMode } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import * as it from "../../support/model-server.js";
import { Weather, weatherIn } from "../../support/test-tools.js";
import { callsIn, textsIn, valuesOf } from "../../support/turn-client.js";
import { turnBench } from "./turn-bench.js";

const bench = turnBench();
const limited = (retryAfter: string) => it.fails(429, { "retry-after": retryAfter });

/** How long after its failure each call may be made again; null where nothing is waited for. */
function waits(events: readonly ThreadEvent[]): (number | null)[] {
  return events.flatMap(({ payload, occurredAt }) => {
    if (payload.case !== "modelCallRetried") return [];
    const { notBefore } = payload.value;
    return notBefore === undefined ? null : toInstant(notBefore) - toInstant(occurredAt!);
  });
}

describe("a model that has too much to do", () => {
  test("is asked again when it wants to be", async () => {
    await bench.start();
    const events = await bench.turnWith(limited("0.2"), limited("0"), it.says("At last."));
    expect(callsIn(events)).toEqual(["primary rate_limited", "primary rate_limited", "primary finished"]);
    expect(waits(events)).toEqual([200, 0]);
    expect(valuesOf(events, "modelCallStarted").map(({ step, attempt }) => [step, attempt])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    expect(valuesOf(events, "modelCallFailed")).toMatchObject([{ chargedTokens: 0n }, { chargedTokens: 0n }]);
    expect(textsIn(events)).toEqual(["At last."]);
  });

  test("is asked again by a date, too", async () => {
    await bench.start();
    const date = "Tue, 04 Aug 2026 10:00:00 GMT";
    const events = await bench.turnWith(it.fails(429, { date, "retry-after": date }), it.says("At last."));
    expect(callsIn(events)).toEqual(["primary rate_limited", "primary finished"]);
    expect(waits(events)).toEqual([0]);
  });

  test("and does not say when is asked again after a while", async () => {
    await bench.start();
    const events = await bench.turnWith(it.fails(429), it.says("At last."));
    expect(callsIn(events)).toEqual(["primary rate_limited", "primary finished"]);
    const [wait] = waits(events);
    expect(wait).toBeGreaterThanOrEqual(250);
    expect(wait).toBeLessThanOrEqual(501);
    const started = events.filter(({ payload }) => payload.case === "modelCallStarted");
    const [retried] = valuesOf(events, "modelCallRetried");
    expect(toInstant(started[1]!.occurredAt!)).toBeGreaterThanOrEqual(toInstant(retried!.notBefore!));
  });

  test("for longer than a turn waits is left alone: the other one is asked at once", async () => {
    await bench.start();
    const events = await bench.turnWith(limited("31"), it.says("I can."));
    expect(callsIn(events)).toEqual(["primary rate_limited", "fallback finished"]);
    expect(valuesOf(events, "modelCallRetried")).toMatchObject([{ reason: "rate_limited", fallbackModelUsed: true }]);
    expect(waits(events)).toEqual([null]);
  });

  test("for longer than a turn waits, and there is no other: the owner is told when", async () => {
    await bench.start({ hasFallback: false });
    const events = await bench.turnWith(limited("61"));
    expect(callsIn(events)).toEqual(["primary rate_limited"]);
    const [failed] = valuesOf(events, "turnFailed");
    expect(failed).toMatchObject({ code: "MODEL_RATE_LIMITED", retryable: true });
    expect(toInstant(failed!.retryAt!) - toInstant(events.at(-1)!.occurredAt!)).toBe(61 * second);
  });

  test("as the other one has: the owner is told when that one is back", async () => {
    await bench.start();
    const events = await bench.turnWith(limited("120"), limited("45"));
    expect(callsIn(events)).toEqual(["primary rate_limited", "fallback rate_limited"]);
    const [failed] = valuesOf(events, "turnFailed");
    expect(failed).toMatchObject({ code: "MODEL_RATE_LIMITED", retryable: true });
    expect(toInstant(failed!.retryAt!) - toInstant(events.at(-1)!.occurredAt!)).toBe(45 * second);
  });
});

describe("a model that is down", () => {
  test.each([500, 502, 503])("with %i is asked three times, then the other one, then nobody", async (status) => {
    await bench.start();
    const down = it.fails(status, { "retry-after": "0" });
    const events = await bench.turnWith(down, down, down, down, down, down);
    expect(callsIn(events)).toEqual([
      ...["primary unavailable", "primary unavailable", "primary unavailable"],
      ...["fallback unavailable", "fallback unavailable", "fallback unavailable"],
    ]);
    expect(valuesOf(events, "modelCallStarted").map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(valuesOf(events, "modelCallRetried").map(({ fallbackModelUsed }) => fallbackModelUsed)).toEqual([
      ...[false, false, true, true, true],
    ]);
    expect(valuesOf(events, "turnFailed")).toMatchObject([{ code: "MODEL_UNAVAILABLE", retryable: true }]);
  });

  test("is not asked more than three times if there is no other", async () => {
    await bench.start({ hasFallback: false });
    const down = it.fails(503, { "retry-after": "0" });
    const events = await bench.turnWith(down, down, down);
    expect(callsIn(events)).toEqual(["primary unavailable", "primary unavailable", "primary unavailable"]);
    expect(valuesOf(events, "turnFailed")).toMatchObject([{ code: "MODEL_UNAVAILABLE" }]);
  });

  test("is asked no more in that turn once the other one has taken over, and is asked first in the next", async () => {
    const weather = new Weather();
    await bench.start({ tools: [weather.tool] });
    const events = await bench.turnWith(limited("60"), it.calls(weatherIn("Bern")), it.says("Sunny."));
    expect(callsIn(events)).toEqual(["primary rate_limited", "fallback finished", "fallback finished"]);
    expect(bench.model.requests.map(({ body }) => body.model)).toEqual([
      ...["primary", "fallback", "fallback"],
      "primary",
    ]);
  });

  test("in a later step is asked as often as in the first", async () => {
    const weather = new Weather();
    await bench.start({ hasFallback: false, tools: [weather.tool] });
    const down = it.fails(503, { "retry-after": "0" });
    const events = await bench.turnWith(
      ...[down, down, it.calls(weatherIn("Bern"))],
      ...[down, down, it.says("Sunny.")],
    );
    expect(valuesOf(events, "modelCallStarted").map(({ step, attempt }) => `${step}.${attempt}`)).toEqual([
      ...["1.1", "1.2", "1.3"],
      ...["2.1", "2.2", "2.3"],
    ]);
    expect(textsIn(events)).toEqual(["Sunny."]);
    expect(weather.runs).toBe(1);
  });
});

describe("a turn that waits for a model", () => {
  test("is interrupted at once by a newer message", async () => {
    await bench.start();
    const threadId = await bench.newThread();
    bench.model.will(limited("20"), it.says("Here you are."));
    const first = bench.begin(threadId, "How is it?");
    await first.saw("modelCallRetried");
    const second = bench.begin(threadId, "Never mind.", { queueMode: QueueMode.INTERRUPT_AFTER_CURRENT_TOOL });
    const interrupted = await bench.ended(first);
    expect(callsIn(interrupted)).toEqual(["primary rate_limited"]);
    expect(valuesOf(interrupted, "turnFailed")).toMatchObject([{ code: "TURN_INTERRUPTED" }]);
    expect(textsIn(await bench.ended(second))).toEqual(["Here you are."]);
  });

  test("waits on when the server was stopped and is back", async () => {
    await bench.start();
    const threadId = await bench.newThread();
    bench.model.will(limited("1"), it.says("Here you are."));
    const before = bench.begin(threadId, "How is it?", { clientMessageId: "1" });
    await before.saw("modelCallRetried");
    await bench.stop();
    await expect(before.ended).rejects.toMatchObject({ code: Code.Unavailable });
    await bench.start();
    const events = await bench.say(threadId, "How is it?", { clientMessageId: "1" });
    expect(callsIn(events)).toEqual(["primary rate_limited", "primary finished"]);
    expect(valuesOf(events, "modelCallStarted").map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(valuesOf(events, "turnResumed")).toMatchObject([{ resumedReason: "server_restarted" }]);
    await bench.goesOn(threadId);
  });
});
