import { describe, expect, test } from "@jest/globals";
import { second } from "../../../domain/shared/index.js";
import {
  calls,
  done,
  drip,
  fails,
  finish,
  gate,
  hang,
  hangsBeforeHead,
  says,
  streams,
  text,
  usage,
} from "../../support/model-server.js";
import { endOf, textsIn, type WatchedTurn } from "../../support/turn-client.js";
import { hangs } from "../../support/test-tools.js";
import { untilOpenStreams } from "../../support/watcher.js";
import { refusedBy } from "../rpc/protocols.js";
import { Stage } from "./stage.js";

const stage = new Stage();
const lookUp = { id: "1", name: "weather_look_up", arguments: '{"city":"Bern"}' };

async function begin(): Promise<WatchedTurn> {
  const threadId = await stage.phone.newThread();
  return stage.phone.begin({ threadId, userText: "Do something.", clientMessageId: "m" });
}

/** What the log has of a thread: one that was deleted cannot be watched. */
function loggedIn(threadId: string): string[] {
  const kinds: string[] = [];
  for (let cursor = 0; ;) {
    const rows = stage.server.running.log.readAll(cursor, 500);
    if (rows.length === 0) return kinds;
    kinds.push(...rows.filter((row) => row.thread_id === threadId).map(({ type }) => type));
    cursor = rows.at(-1)!.position;
  }
}

/** A whole turn elsewhere: when it is over, whatever was about to happen before it has happened. */
async function talkElsewhere(): Promise<void> {
  stage.model.otherwise(says("Hello."));
  expect(endOf(await stage.phone.turn({ threadId: await stage.phone.newThread(), userText: "Hello." }))).toBe(
    "completed",
  );
}

/** Deletes the thread of a turn; its stream must end, and nothing may come of it any more, also after a restart. */
async function deleteThreadOf(turn: WatchedTurn): Promise<void> {
  const { threadId } = turn.events[0]!;
  const asked = stage.model.requests.length;
  await stage.phone.threads.deleteThread({ threadId });
  await turn.ended;
  expect(endOf(turn.events)).toBe("not at all");
  expect(turn.events.at(-1)!.payload.case).toBe("threadDeleted");
  await untilOpenStreams(stage.server.running.url, 0);
  const before = loggedIn(threadId);
  expect(before.at(-1)).toBe("threadDeleted");
  await talkElsewhere();
  await stage.restart();
  await talkElsewhere();
  expect(loggedIn(threadId)).toEqual(before);
  expect(stage.model.requests).toHaveLength(asked + 2);
  const again = stage.phone.turn({ threadId, userText: "Are you there?" });
  expect(await refusedBy(again)).toMatchObject({ code: "FailedPrecondition", refusal: "thread_deleted" });
}

describe("a thread that is deleted takes its turn with it,", () => {
  test("while the model talks: it is hung up on", async () => {
    stage.model.will(streams(text("Once upon a time"), hang));
    const turn = await begin();
    await turn.saw("assistantTextDelta");
    await deleteThreadOf(turn);
    await stage.model.abandoned(1);
  });

  test("while a tool reads: it is told to give up", async () => {
    stage.model.will(calls(lookUp));
    stage.weather.does(hangs);
    const turn = await begin();
    await stage.weather.started(1);
    await turn.saw("toolExecutionStarted");
    await deleteThreadOf(turn);
    expect(stage.weather.runs).toBe(1);
  });

  test("while it waits to ask again", async () => {
    stage.model.will(fails(429, { "retry-after": "25" }));
    const turn = await begin();
    await turn.saw("modelCallRetried");
    await deleteThreadOf(turn);
  });

  test("and those that wait behind it, and no other's", async () => {
    const { phone, model } = stage;
    const held = gate();
    model.will(
      streams(text("Here"), hang),
      streams(text("I am "), held.opened, text("not."), finish("stop"), usage(), done),
    );
    const turn = await begin();
    await turn.saw("assistantTextDelta");
    const { threadId } = turn.events[0]!;
    const waiting = phone.begin({ threadId, userText: "And then?" });
    await waiting.saw("turnQueued");
    const sent = refusedBy(phone.turns.sendTurn({ threadId, userText: "And then?" }));
    await phone.until(threadId, "turnQueued", 2);
    const other = await begin();
    await other.saw("assistantTextDelta");

    await phone.threads.deleteThread({ threadId });
    await Promise.all([turn.ended, waiting.ended]);
    expect(await sent).toMatchObject({ code: "FailedPrecondition", refusal: "thread_deleted" });
    expect(waiting.events.at(-1)!.payload.case).toBe("threadDeleted");
    await model.abandoned(1);
    expect(endOf(waiting.events)).toBe("not at all");
    held.open();
    await other.ended;
    expect(textsIn(other.events)).toEqual(["I am not."]);
    expect(model.requests).toHaveLength(2);
    expect(loggedIn(threadId).at(-1)).toBe("threadDeleted");
  });

  // The summary is told only of the server's own end.
  test("while a summary is made of it", async () => {
    const { phone, model } = stage;
    model.will(says("I see."), hangsBeforeHead);
    const threadId = await phone.newThread();
    await phone.turn({ threadId, userText: "What a long story. ".repeat(2_500) });
    await model.asked(2);
    expect(stage.summaryQuestions).toHaveLength(1);
    await phone.threads.deleteThread({ threadId });
    const tooLate = new Promise((resolve) => setTimeout(resolve, 2 * second, "still asking"));
    expect(await Promise.race([model.abandoned(1), tooLate])).toBeUndefined();
    await talkElsewhere();
    expect(loggedIn(threadId).slice(-2)).toEqual(["modelCallStarted", "threadDeleted"]);
  });

  test("however fast the model talks", async () => {
    for (let attempt = 1; attempt <= 40; attempt++) {
      stage.model.will(streams(drip(text("x".repeat(5_000)).join(""))));
      const turn = await begin();
      await turn.saw("assistantTextDelta", 3);
      const { threadId } = turn.events[0]!;
      await stage.phone.threads.deleteThread({ threadId });
      await Promise.all([turn.ended, stage.model.abandoned(attempt)]);
      expect(loggedIn(threadId).at(-1)).toBe("threadDeleted");
    }
  });
});
