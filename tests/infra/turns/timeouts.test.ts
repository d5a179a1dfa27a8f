import { describe, expect, test } from "@jest/globals";
import { minute, toInstant } from "../../../domain/shared/index.js";
import { defaultModelTimeouts } from "../../../infra/model/timeouts.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import * as it from "../../support/model-server.js";
import { callsIn, deltasIn, endOf, textsIn, valuesOf } from "../../support/turn-client.js";
import { movableClock } from "../rpc/movable-clock.js";
import { turnBench } from "./turn-bench.js";

const bench = turnBench();
/** Long enough for any machine to answer, short enough to wait for. */
const soon = 400;
const modelTimeouts = { ...defaultModelTimeouts, firstByteMillisMax: soon, idleMillisMax: soon };

/** What is said of each call that failed. */
function messagesIn(events: readonly ThreadEvent[]): string[] {
  return valuesOf(events, "modelCallFailed").map(({ message }) => message);
}

describe("a model that takes too long", () => {
  test.each<[string, it.Behaviour, string, RegExp]>([
    ["before it answers", it.hangsBeforeHead, "", /no first byte within 400 ms/],
    ["inside its text", it.streams(it.text("Well, "), it.hang), "Well, ", /went idle/],
  ])("%s is asked again, and what it has said is void", async (_name, behaviour, said, message) => {
    await bench.start({ hasFallback: false, modelTimeouts });
    const events = await bench.turnWith(behaviour, it.says("Here you are."));
    expect(callsIn(events)).toEqual(["primary timeout", "primary finished"]);
    expect(messagesIn(events)).toEqual([expect.stringMatching(message)]);
    const [failed] = valuesOf(events, "modelCallFailed");
    expect(deltasIn(events, failed!.callId).join("")).toBe(said);
    expect(failed!.chargedTokens).toBeGreaterThan(0n); // It has read the question.
    expect(textsIn(events)).toEqual(["Here you are."]);
    await bench.model.abandoned(1);
  });

  test("three times is left to the other", async () => {
    await bench.start({ modelTimeouts });
    const hangs = it.hangsBeforeHead;
    const events = await bench.turnWith(hangs, hangs, hangs, it.says("I can."));
    expect(callsIn(events)).toEqual([...Array<string>(3).fill("primary timeout"), "fallback finished"]);
    expect(textsIn(events)).toEqual(["I can."]);
  });

  test("three times, and there is no other: the turn ends, and may be tried again", async () => {
    await bench.start({ hasFallback: false, modelTimeouts });
    const events = await bench.turnWith(
      it.hangsBeforeHead,
      it.streams(it.text("Well, "), it.hang),
      it.streams(it.toolCall({ index: 0, id: "call_1", name: "notes_write", arguments: '{"ti' }), it.hang),
    );
    expect(callsIn(events)).toEqual(Array<string>(3).fill("primary timeout"));
    const message = "The model took longer than it may.";
    const [failed] = valuesOf(events, "turnFailed");
    expect(failed).toMatchObject({ code: "MODEL_TIMEOUT", message, retryable: true });
    expect(failed!.retryAt).toBeUndefined();
    expect(valuesOf(events, "toolCallPlanned")).toEqual([]);
  });

  test("is not asked again once the step's time is over", async () => {
    const clock = movableClock();
    await bench.start({ clock, modelTimeouts });
    const threadId = await bench.newThread();
    bench.model.will(it.hangsBeforeHead);
    const turn = bench.begin(threadId, "How is it?");
    await bench.model.asked(1);
    await turn.saw("modelCallStarted");
    clock.forward(minute);
    const events = await bench.ended(turn);
    expect(callsIn(events)).toEqual(["primary timeout"]);
    const [started] = valuesOf(events, "modelCallStarted");
    expect(toInstant(events.at(-1)!.occurredAt!)).toBe(toInstant(started!.stepEndsAt!));
    expect(endOf(events)).toBe("TURN_STEP_TIMEOUT");
    expect(valuesOf(events, "turnFailed")).toMatchObject([
      { message: "One step took longer than it may.", retryable: true },
    ]);
    await bench.goesOn(threadId);
  });

  test("although it has said everything, is taken at its word", async () => {
    await bench.start({ hasFallback: false, modelTimeouts });
    const events = await bench.turnWith(it.streams(it.text("That is all."), it.finish("stop"), it.hang));
    expect(callsIn(events)).toEqual(["primary finished"]);
    expect(textsIn(events)).toEqual(["That is all."]);
    expect(valuesOf(events, "modelCallFinished")).toMatchObject([{ estimated: true }]);
  });
});
