import { describe, expect, test } from "@jest/globals";
import { Code, createClient } from "@connectrpc/connect";
import { toInstant } from "../../../domain/shared/index.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { QueueMode, TurnsService } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import * as it from "../../support/model-server.js";
import { callsIn, deltasIn, endOf, textsIn, valuesOf } from "../../support/turn-client.js";
import { connectTo, refusedBy } from "../rpc/protocols.js";
import { apiKey, turnBench } from "./turn-bench.js";

const bench = turnBench();
const halfACall = it.toolCall({ index: 0, id: "call_1", name: "notes_write", arguments: '{"title":"Mi' });

/** The text that came of a call which then failed. */
function voidText(events: readonly ThreadEvent[]): string {
  const failed = valuesOf(events, "modelCallFailed").map(({ callId }) => deltasIn(events, callId).join(""));
  return failed.join("");
}

describe("a status", () => {
  test("of 401 is the end: another model would want the same key", async () => {
    await bench.start();
    const events = await bench.turnWith(it.fails(401, {}, { error: { message: `no such key: ${apiKey}` } }));
    expect(bench.model.requests[0]!.headers.authorization).toBe(`Bearer ${apiKey}`); // So we look for the right one.
    expect(callsIn(events)).toEqual(["primary unauthorized"]);
    expect(valuesOf(events, "turnFailed")).toMatchObject([{ code: "MODEL_UNAUTHORIZED", retryable: false }]);
    expect(valuesOf(events, "modelCallFailed")).toMatchObject([{ chargedTokens: 0n }]);
  });

  test.each([
    [400, "rejected", "MODEL_REJECTED"],
    [402, "payment_required", "MODEL_PAYMENT_REQUIRED"],
    [403, "rejected", "MODEL_REJECTED"],
    [404, "rejected", "MODEL_REJECTED"],
  ])("of %i sends us to the other model, once", async (status, reason, code) => {
    await bench.start();
    const helped = await bench.turnWith(it.fails(status), it.says("I can."));
    expect(callsIn(helped)).toEqual([`primary ${reason}`, "fallback finished"]);
    expect(textsIn(helped)).toEqual(["I can."]);
    const failed = await bench.turnWith(it.fails(status), it.fails(status));
    expect(callsIn(failed)).toEqual([`primary ${reason}`, `fallback ${reason}`]);
    expect(valuesOf(failed, "turnFailed")).toMatchObject([{ code, retryable: false }]);
  });
});

describe("an answer is asked for again that", () => {
  test.each<[string, string, it.Behaviour]>([
    ["does not begin", "unavailable", it.resetsBeforeHead],
    ["is nothing at all", "cut", it.streams()],
    ["is cut in the middle of a tool call", "cut", it.streams(halfACall)],
    ["is reset in the middle of a tool call", "cut", it.streams(halfACall, it.reset)],
    ["has a line that is no event", "malformed", it.streams(it.text("Well, "), "what is this\n\n")],
    ["has a chunk that is not JSON", "malformed", it.streams(it.text("Well, "), 'data: {"choices":[\n\n')],
    ["has a chunk that is none", "malformed", it.streams(it.event({ choices: "many" }))],
    ["breaks off with an error", "unavailable", it.streams(it.event({ error: { code: 502, message: apiKey } }))],
  ])("%s", async (_name, reason, behaviour) => {
    await bench.start({ hasFallback: false });
    const events = await bench.turnWith(behaviour, it.says("A whole ", "answer."));
    expect(callsIn(events)).toEqual([`primary ${reason}`, "primary finished"]);
    expect(textsIn(events)).toEqual(["A whole answer."]);
    expect(valuesOf(events, "toolCallPlanned")).toEqual([]);
    const [retried] = valuesOf(events, "modelCallRetried");
    expect(retried).toMatchObject({ attempt: 1, reason, fallbackModelUsed: false });
    const second = events.filter(({ payload }) => payload.case === "modelCallStarted")[1]!;
    expect(toInstant(second.occurredAt!)).toBeGreaterThanOrEqual(toInstant(retried!.notBefore!));
  });

  test("is cut in the middle of its text: what was shown of it is void", async () => {
    await bench.start();
    const threadId = await bench.newThread();
    const shown = it.gate();
    bench.model.will(it.streams(it.text("Half an ans"), shown.opened, it.reset), it.says("A whole answer."));
    const turn = bench.begin(threadId, "Hello?");
    await turn.saw("assistantTextDelta");
    shown.open();
    const events = await bench.ended(turn);
    expect(callsIn(events)).toEqual(["primary cut", "primary finished"]);
    expect(voidText(events)).toBe("Half an ans");
    expect(textsIn(events)).toEqual(["A whole answer."]);
    await bench.goesOn(threadId);
    const shownLater = JSON.stringify(bench.model.requests.at(-1)!.body.messages);
    expect(shownLater).not.toContain("Half an ans");
  });

  test("is a megabyte of text: the log has of it what a message may be", async () => {
    await bench.start();
    const pieces = Array.from({ length: 64 }, () => "sixteen letters ".repeat(1_024));
    const events = await bench.turnWith(it.says(...pieces), it.says("In short: no."));
    expect(callsIn(events)).toEqual(["primary malformed", "primary finished"]);
    expect(voidText(events).length).toBeLessThanOrEqual(64 * 1024);
    expect(textsIn(events)).toEqual(["In short: no."]);
  });
});

describe("a model that hangs", () => {
  test.each<[string, it.Behaviour, string]>([
    ["before it answers", it.hangsBeforeHead, ""],
    ["inside its text", it.streams(it.text("Well, "), it.hang), "Well, "],
    ["inside a tool call", it.streams(it.text("Well, "), halfACall, it.hang), "Well, "],
  ])("%s is left alone when a newer message interrupts it", async (_name, behaviour, said) => {
    await bench.start();
    const threadId = await bench.newThread();
    bench.model.will(behaviour, it.says("Here you are."));
    const first = bench.begin(threadId, "How is it?");
    await (said === "" ? bench.model.asked(1) : first.saw("assistantTextDelta"));
    const second = bench.begin(threadId, "Never mind.", { queueMode: QueueMode.INTERRUPT_AFTER_CURRENT_TOOL });
    const interrupted = await bench.ended(first);
    await bench.model.abandoned(1);
    expect(callsIn(interrupted)).toEqual(["primary interrupted"]);
    expect(voidText(interrupted)).toBe(said);
    expect(valuesOf(interrupted, "turnFailed")).toMatchObject([{ code: "TURN_INTERRUPTED", retryable: false }]);
    expect(textsIn(await bench.ended(second))).toEqual(["Here you are."]);
  });

  test.each<[string, it.Behaviour, string]>([
    ["before it answers", it.hangsBeforeHead, ""],
    ["inside its text", it.streams(it.text("Well, "), it.hang), "Well, "],
  ])("%s is asked again when the server was stopped and is back", async (_name, behaviour, said) => {
    await bench.start();
    const threadId = await bench.newThread();
    bench.model.will(behaviour, it.says("Here you are."));
    const before = bench.begin(threadId, "How is it?", { clientMessageId: "1" });
    await (said === "" ? bench.model.asked(1) : before.saw("assistantTextDelta"));
    await bench.stop();
    await expect(before.ended).rejects.toMatchObject({ code: Code.Unavailable });
    await bench.start();
    const events = await bench.say(threadId, "How is it?", { clientMessageId: "1" });
    expect(callsIn(events)).toEqual(["primary server_stopped", "primary finished"]);
    expect(valuesOf(events, "turnResumed")).toMatchObject([{ resumedReason: "server_restarted" }]);
    expect(voidText(events)).toBe(said);
    expect(textsIn(events)).toEqual(["Here you are."]);
    await bench.goesOn(threadId);
  });
});

describe("an answer is taken as it is that", () => {
  test("is not UTF-8: it becomes Unicode", async () => {
    await bench.start();
    const [before, after] = it.text("na|ve")[0]!.split("|");
    const bytes = Buffer.concat([Buffer.from(before!), Buffer.of(0xef, 0xff), Buffer.from(after!)]);
    const events = await bench.turnWith(it.streams(bytes, it.finish("stop"), it.usage(), it.done));
    expect(textsIn(events)).toEqual(["na\uFFFD\uFFFDve"]);
  });

  test("is a refusal: that is what the model has to say", async () => {
    await bench.start();
    const events = await bench.turnWith(
      it.streams(it.delta({ refusal: "I'd rather " }), it.delta({ refusal: "not." }, "content_filter"), it.done),
    );
    expect(textsIn(events)).toEqual(["I'd rather not."]);
    expect(valuesOf(events, "modelCallFinished")).toMatchObject([{ finishReason: "content_filter" }]);
  });

  test("was cut short by its limit: the message says so", async () => {
    await bench.start();
    const events = await bench.turnWith(it.streams(it.text("And then"), it.finish("length"), it.usage(), it.done));
    expect(valuesOf(events, "assistantMessageCommitted")).toMatchObject([
      { fullText: "And then", metadata: { finish_reason: "length" } },
    ]);
  });

  test("is as long as a message may be", async () => {
    await bench.start();
    const longest = "é".repeat(32 * 1024);
    bench.model.otherwise(it.says("It was about letters.")); // So much talk is worth a summary.
    const threadId = await bench.newThread();
    bench.model.will(it.says(longest));
    const events = await bench.say(threadId, "How long can you go on?");
    expect(textsIn(events)[0] === longest).toBe(true);
    expect(endOf(await bench.say(threadId, "Enough."))).toBe("completed");
  });

  test.each<[string, unknown]>([
    ["negative", { prompt_tokens: -1, completion_tokens: 3 }],
    ["absurd", { prompt_tokens: 1e15, completion_tokens: 1e15 }],
    ["more cached than read", { prompt_tokens: 1, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 9 } }],
    ["no numbers", { prompt_tokens: "many", completion_tokens: null }],
    ["nothing", null],
  ])("counts its tokens as %s: we count them then", async (_name, reported) => {
    await bench.start();
    const events = await bench.turnWith(it.streams(it.text("Yes."), it.finish("stop"), it.usage(reported), it.done));
    const [call] = valuesOf(events, "modelCallFinished");
    expect(call).toMatchObject({ estimated: true, outputTokens: 2n, cachedInputTokens: 0n });
    expect(call!.inputTokens).toBeGreaterThan(100n);
    expect(call!.inputTokens).toBeLessThan(valuesOf(events, "modelCallStarted")[0]!.reservedTokens);
  });

  test("counts its tokens: its word is taken", async () => {
    await bench.start();
    const reported = { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 80 } };
    const events = await bench.turnWith(it.streams(it.text("Yes."), it.finish("stop"), it.usage(reported), it.done));
    expect(valuesOf(events, "modelCallFinished")).toMatchObject([
      { estimated: false, inputTokens: 100n, outputTokens: 5n, cachedInputTokens: 80n },
    ]);
  });
});

describe("what the owner says", () => {
  test("may be as long as a message may be, and no longer", async () => {
    await bench.start();
    const threadId = await bench.newThread();
    const { head } = bench;
    const longest = "é".repeat(32 * 1024);
    const tooLong = { code: "InvalidArgument", refusal: "text_too_long", facts: expect.anything() };
    expect(await refusedBy(bench.begin(threadId, `${longest}.`).ended)).toEqual(tooLong);
    const turns = bench.client(TurnsService);
    expect(await refusedBy(turns.sendTurn({ threadId, userText: `${longest}.` }))).toEqual(tooLong);
    expect(bench.head).toBe(head);
    expect(bench.model.requests).toEqual([]);

    bench.model.otherwise(it.says("You said a lot."));
    const events = await bench.say(threadId, longest);
    expect(textsIn(events)).toEqual(["You said a lot."]);
    const [, ...said] = bench.model.requests[0]!.body.messages;
    expect(said).toEqual([{ role: "user", content: longest }]);
  });

  test("is something, and is Unicode", async () => {
    await bench.start();
    const threadId = await bench.newThread();
    const { head } = bench;
    expect(await refusedBy(bench.begin(threadId, "").ended)).toMatchObject({ refusal: "text_empty" });
    const connection = connectTo(bench.url);
    const turns = createClient(TurnsService, connection.transports.get("Connect JSON")!);
    const options = { headers: { authorization: `Bearer ${bench.token}` } };
    for (const userText of ["\ud800", "well \udfff formed", "\ude00\ud83d"]) {
      expect(await refusedBy(turns.sendTurn({ threadId, userText }, options))).toMatchObject({
        code: "InvalidArgument",
      });
    }
    connection.close();
    expect(bench.head).toBe(head);
    await bench.goesOn(threadId);
  });
});
