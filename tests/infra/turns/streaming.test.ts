import { timestampMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { deltaMillisMax } from "../../../commands/threads/turn-output.js";
import { TurnsService } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { bearer } from "../rpc/bad-tokens.js";
import { connectTo } from "../rpc/protocols.js";
import { calls, done, fails, finish, gate, says, streams, text, usage } from "../../support/model-server.js";
import { deltasIn, endOf, textsIn, valuesOf, WatchedTurn } from "../../support/turn-client.js";
import { take, untilOpenStreams } from "../../support/watcher.js";
import { kindsOf, ofTurn, sequencesOf, Stage } from "./stage.js";

const stage = new Stage();
const lookUp = { id: "1", name: "weather_look_up", arguments: '{"city":"Bern"}' };

describe("StartTurn streams", () => {
  test.each(["Connect", "Connect JSON", "gRPC", "gRPC-web"])(
    "the events of its turn and of no other, as the thread has them, until it ends: %s",
    async (protocol) => {
      const { phone, model } = stage;
      const connection = connectTo(stage.server.running.url);
      const turns = createClient(TurnsService, connection.transports.get(protocol)!);
      const [threadId, elsewhere] = [await phone.newThread(), await phone.newThread()];
      const held = gate();
      model.will(streams(text("Not so "), held.opened, text("fast."), finish("stop"), usage(), done));
      const other = phone.begin({ threadId: elsewhere, userText: "Slowly, please." });
      await other.saw("assistantTextDelta");

      model.will(calls(lookUp), says("It is ", "sunny."));
      const headers = bearer(stage.token);
      const turn = new WatchedTurn(turns.startTurn({ threadId, userText: "How is the weather?" }, { headers }));
      await turn.ended;
      const kinds = kindsOf(turn.events);
      expect(kinds.slice(0, 4)).toEqual(["messageCommitted", "turnStarted", "turnBudgetApplied", "modelCallStarted"]);
      expect(kinds).toContain("toolExecutionFinished");
      expect(kinds.slice(-3)).toEqual(["assistantMessageCommitted", "threadTitled", "turnCompleted"]);
      expect(endOf(other.events)).toBe("not at all");

      const watched = await phone.replay(threadId);
      expect(turn.events).toEqual(ofTurn(turn.events[0]!.turnId, watched));
      expect(sequencesOf(watched)).toEqual(watched.map((_, index) => index + 1));
      held.open();
      await other.ended;
      expect(textsIn(other.events)).toEqual(["Not so fast."]);
      expect(new Set(other.events.map((event) => event.threadId))).toEqual(new Set([elsewhere]));
      await untilOpenStreams(stage.server.running.url, 0);
      connection.close();
    },
  );

  test("until the turn fails, too", async () => {
    stage.model.will(fails(401));
    const threadId = await stage.phone.newThread();
    const events = await stage.phone.turn({ threadId, userText: "Hello?" });
    expect(kindsOf(events).slice(-3)).toEqual(["modelCallFailed", "threadTitled", "turnFailed"]);
    expect(endOf(events)).toBe("MODEL_UNAUTHORIZED");
    await untilOpenStreams(stage.server.running.url, 0);
  });

  test("while the turn goes on: what the model has said is there before it has said all", async () => {
    const held = gate();
    stage.model.will(streams(text("One, "), held.opened, text("two."), finish("stop"), usage(), done));
    const turn = stage.phone.begin({ threadId: await stage.phone.newThread(), userText: "Count." });
    await turn.saw("assistantTextDelta");
    expect(valuesOf(turn.events, "assistantTextDelta")).toMatchObject([{ delta: "One, " }]);
    held.open();
    await turn.ended;
    expect(textsIn(turn.events)).toEqual(["One, two."]);
  });
});

describe("the pieces of an answer", () => {
  test("that come at once are few events", async () => {
    const words = Array.from({ length: 200 }, (_, index) => `word ${index} `);
    stage.model.will(streams(text(...words).join(""), finish("stop"), usage(), done));
    const events = await stage.phone.turn({ threadId: await stage.phone.newThread(), userText: "Talk." });
    expect(textsIn(events)).toEqual([words.join("")]);
    expect(valuesOf(events, "assistantTextDelta").length).toBeLessThanOrEqual(5);
  });

  test("that come one by one are events that are some time apart", async () => {
    const words = Array.from({ length: 200 }, (_, index) => `word ${index} `);
    const breathe = () => new Promise((resolve) => setImmediate(resolve));
    const pieces = text(...words).flatMap((word) => [word, breathe]);
    stage.model.will(streams(pieces, finish("stop"), usage(), done));
    const events = await stage.phone.turn({ threadId: await stage.phone.newThread(), userText: "Talk." });
    expect(textsIn(events)).toEqual([words.join("")]);
    // What is left when the answer is complete does not wait.
    const waited = events.filter(({ payload }) => payload.case === "assistantTextDelta").slice(0, -1);
    const times = waited.map(({ occurredAt }) => timestampMs(occurredAt!));
    const pauses = times.slice(1).map((time, index) => time - times[index]!);
    expect(pauses.filter((millis) => millis < deltaMillisMax - 2)).toEqual([]);
  });

  test("are, one after the other, what is committed: however the model cuts it, also inside a character", async () => {
    const piece = fc.oneof(fc.string(), fc.constantFrom("\ud83e", "\udd80", "🦀", "{", "```json\n", " ", "\n"));
    // So much is written down at once, and what comes after it is another piece; or it may be an object, and is not.
    const beginning = fc.constantFrom("So: ", "well, ".repeat(1_000), "{so", " ```json\n{", "``", " ".repeat(70) + ".");
    const isTheSame = async (first: string, pieces: readonly string[]) => {
      stage.model.will(streams(text(first, ...pieces), finish("stop"), usage(), done));
      const events = await stage.phone.turn({ threadId: await stage.phone.newThread(), userText: "Talk." });
      const [message] = valuesOf(events, "assistantMessageCommitted");
      expect(deltasIn(events, message!.segmentId).join("")).toBe(message!.fullText);
      // Half a character is none.
      expect(message!.fullText).toBe(`${first}${pieces.join("")}`.replace(/[\ud800-\udbff]$/, "").toWellFormed());
    };
    await fc.assert(fc.asyncProperty(beginning, fc.array(piece, { maxLength: 12 }), isTheSame), { numRuns: 40 });
  });

  test("of an object, as models without tool calls answer, are its text and nothing else of it", async () => {
    const object = JSON.stringify({ assistant_message: "Good morning.", proposed_actions: [] });
    stage.model.will(says(...object.match(/.{1,5}/g)!));
    const events = await stage.phone.turn({ threadId: await stage.phone.newThread(), userText: "Hello." });
    expect(textsIn(events)).toEqual(["Good morning."]);
    expect(valuesOf(events, "assistantTextDelta")).toMatchObject([{ delta: "Good morning." }]);
  });
});

describe("the metrics", () => {
  test("count turns and calls by how they ended, and tokens", async () => {
    const { phone, model } = stage;
    const threadId = await phone.newThread();
    model.will(calls(lookUp), says("Sunny."), fails(402));
    await phone.turn({ threadId, userText: "How is the weather?" });
    await phone.turn({ threadId, userText: "And now?" });
    await untilOpenStreams(stage.server.running.url, 0);
    const metrics = await stage.metrics();
    for (const line of [
      'pincer_turns_total{outcome="completed"} 1',
      'pincer_turns_total{outcome="MODEL_PAYMENT_REQUIRED"} 1',
      'pincer_model_calls_total{outcome="finished"} 2',
      'pincer_model_calls_total{outcome="payment_required"} 1',
      'pincer_model_tokens_total{kind="input"} 24',
      'pincer_model_tokens_total{kind="output"} 6',
      "pincer_open_streams 0",
    ]) {
      expect(metrics.split("\n")).toContain(line);
    }
  });

  test("count as resumed only a stream whose client had a cursor", async () => {
    stage.model.will(says("Hello."));
    const asked = { threadId: await stage.phone.newThread(), userText: "Hello.", clientMessageId: "m" };
    const [first] = await stage.phone.turn(asked);
    const resumes = async () => /^pincer_stream_resumes_total (\d+)$/m.exec(await stage.metrics())?.[1];
    expect(await resumes()).toBe("0");
    await stage.phone.turn({ ...asked, resumeFromSequence: first!.sequence });
    await stage.phone.replay(asked.threadId);
    expect(await resumes()).toBe("0");
    const leaving = new AbortController();
    const { threadId } = asked;
    for (const stream of [
      stage.phone.events.watchThread({ threadId, fromSequence: 1n }, { signal: leaving.signal }),
      stage.phone.events.watchLog({ fromPosition: 1n }, { signal: leaving.signal }),
    ]) {
      await take(stream[Symbol.asyncIterator](), 1);
    }
    expect(await resumes()).toBe("2");
    leaving.abort();
  });
});
