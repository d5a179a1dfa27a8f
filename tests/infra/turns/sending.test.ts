import { describe, expect, test } from "@jest/globals";
import { toInstant } from "../../../domain/shared/index.js";
import { done, fails, finish, gate, says, streams, text, toolCall, usage } from "../../support/model-server.js";
import { textsIn, valuesOf } from "../../support/turn-client.js";
import { take, untilOpenStreams } from "../../support/watcher.js";
import { refusedBy } from "../rpc/protocols.js";
import { codeOf, kindsOf, Stage } from "./stage.js";

const stage = new Stage();
const lookUp = { id: "1", name: "weather_look_up", arguments: '{"city":"Bern"}' };

describe("SendTurn", () => {
  test("answers with the last text, the turn, and where it ended", async () => {
    const { phone, model } = stage;
    const threadId = await phone.newThread();
    const talkative = streams(
      text("Let me see."),
      toolCall({ index: 0, ...lookUp }),
      finish("tool_calls"),
      usage(),
      done,
    );
    model.will(talkative, says("It is ", "sunny."));
    const answer = await phone.turns.sendTurn({ threadId, userText: "How is the weather?" });
    const events = await phone.replay(threadId);
    expect(textsIn(events)).toEqual(["Let me see.", "It is sunny."]);
    const last = events.at(-1)!;
    expect(last.payload.case).toBe("turnCompleted");
    expect(answer).toMatchObject({
      turnId: last.turnId,
      assistantMessage: "It is sunny.",
      actionId: "",
      lastSequence: last.sequence,
    });
    await untilOpenStreams(stage.server.running.url, 0);
  });

  test("answers the same when it is sent again, without asking the model again", async () => {
    const { phone, model } = stage;
    const asked = { threadId: await phone.newThread(), userText: "Hello.", clientMessageId: "m" };
    model.will(says("Hello."));
    const first = await phone.turns.sendTurn(asked);
    const before = await phone.replay(asked.threadId);
    expect(await phone.turns.sendTurn(asked)).toEqual(first);
    expect((await phone.turn(asked)).at(-1)!.sequence).toBe(first.lastSequence);
    expect(await phone.replay(asked.threadId)).toEqual(before);
    expect(model.requests).toHaveLength(1);
  });

  test.each([
    [fails(401), "MODEL_UNAUTHORIZED"],
    [fails(402), "MODEL_PAYMENT_REQUIRED"],
    [fails(400), "MODEL_REJECTED"],
    [fails(429, { "retry-after": "3600" }), "MODEL_RATE_LIMITED"], // Which also says when it makes sense again.
  ])("is refused with the reason when the turn fails, and again when it is sent again", async (trouble, code) => {
    const { phone, model } = stage;
    const asked = { threadId: await phone.newThread(), userText: "Hello.", clientMessageId: "m" };
    model.will(trouble);
    const refused = await refusedBy(phone.turns.sendTurn(asked));
    const [failed] = valuesOf(await phone.replay(asked.threadId), "turnFailed");
    const turnId = (await phone.turn(asked))[0]!.turnId;
    const { message, retryable, retryAt } = failed!;
    const when = retryAt === undefined ? {} : { retryAt: new Date(toInstant(retryAt)).toISOString() };
    expect(refused).toEqual({
      code: "Aborted",
      refusal: "turn_failed",
      facts: { turnId, code, message, retryable: String(retryable), ...when },
    });
    expect("retryAt" in refused.facts).toBe(code === "MODEL_RATE_LIMITED");
    expect(await refusedBy(phone.turns.sendTurn(asked))).toEqual(refused);
    expect(model.requests).toHaveLength(1);
  });

  test("waits for its turn behind another, and answers with its own text", async () => {
    const { phone, model } = stage;
    const threadId = await phone.newThread();
    const held = gate();
    model.will(streams(text("First."), held.opened, finish("stop"), usage(), done), says("Second."));
    const first = phone.begin({ threadId, userText: "One" });
    await first.saw("assistantTextDelta");
    const second = phone.turns.sendTurn({ threadId, userText: "Two" });
    await phone.until(threadId, "turnQueued");
    held.open();
    const events = await phone.until(threadId, "turnCompleted", 2);
    expect(await second).toMatchObject({ assistantMessage: "Second.", lastSequence: events.at(-1)!.sequence });
  });

  test("that nobody waits for any more leaves the turn alone", async () => {
    const { phone, model } = stage;
    const threadId = await phone.newThread();
    const held = gate();
    model.will(streams(text("Still "), held.opened, text("here."), finish("stop"), usage(), done));
    const leaving = new AbortController();
    const asked = { threadId, userText: "Hello?", clientMessageId: "m" };
    const sent = phone.turns.sendTurn(asked, { signal: leaving.signal });
    await phone.until(threadId, "assistantTextDelta");
    leaving.abort();
    expect(await codeOf(sent)).toBe("Canceled");
    await untilOpenStreams(stage.server.running.url, 0);
    held.open();
    expect(await phone.turns.sendTurn(asked)).toMatchObject({ assistantMessage: "Still here." });
    expect(model.requests).toHaveLength(1);
  });

  test("that the server leaves because it stops tells the client to come back", async () => {
    const { phone, model } = stage;
    const threadId = await phone.newThread();
    model.will(
      streams(text("I"), ({ hungUp }) => hungUp),
      says("Here I am."),
    );
    const asked = { threadId, userText: "Hello?", clientMessageId: "m" };
    const sent = phone.turns.sendTurn(asked);
    await phone.until(threadId, "assistantTextDelta");
    const ended = codeOf(sent);
    await stage.restart();
    expect(await ended).toBe("Unavailable");
    expect(await stage.phone.turns.sendTurn(asked)).toMatchObject({ assistantMessage: "Here I am." });
  });

  test("is refused for a text that is none, and for a thread that is none", async () => {
    const { phone, model } = stage;
    const threadId = await phone.newThread();
    expect(await refusedBy(phone.turns.sendTurn({ threadId, userText: "" }))).toMatchObject({ refusal: "text_empty" });
    const missing = phone.turns.sendTurn({ threadId: "nobody's", userText: "Hello" });
    expect(await refusedBy(missing)).toMatchObject({ code: "NotFound", refusal: "thread_not_found" });
    const longId = { threadId, userText: "Hello", clientMessageId: "x".repeat(201) };
    expect(await refusedBy(phone.turns.sendTurn(longId))).toMatchObject({ refusal: "text_too_long" });
    expect(model.requests).toHaveLength(0);
  });

  test("that is refused, because its device has as many streams as it may, leaves nothing", async () => {
    const { phone } = stage;
    const threadId = await phone.newThread();
    const leaving = new AbortController();
    const streams = Array.from({ length: 100 }, () =>
      phone.events.watchThread({ threadId }, { signal: leaving.signal }),
    );
    await Promise.all(streams.map((stream) => take(stream[Symbol.asyncIterator](), 1)));
    const refused = await refusedBy(phone.turns.sendTurn({ threadId, userText: "Hello" }));
    leaving.abort();
    await untilOpenStreams(stage.server.running.url, 0);
    expect(refused).toMatchObject({ code: "ResourceExhausted", refusal: "too_many_streams" });
    expect(kindsOf(await phone.replay(threadId))).toEqual(["threadCreated"]);
  });
});
