import { describe, expect, test } from "@jest/globals";
import { filter, firstValueFrom, map, startWith } from "rxjs";
import { forget } from "../../support/conversation.js";
import { calls, done, finish, gate, says, streams, text, usage, type Behaviour } from "../../support/model-server.js";
import { outletTool } from "../../support/outlet.js";
import { isForSummary, Stage } from "./stage.js";

const stage = new Stage({}, { tools: [outletTool("http://127.0.0.1:9")] }); // Nobody comes to post anything.
const post = { id: "1", name: "outlet_post", arguments: JSON.stringify({ to: "ada", text: "hello" }) };
const note = { id: "1", name: "notes_write", arguments: JSON.stringify({ title: "Tea", text: "Buy some." }) };

const eventsMax = 1_000;

/** Erases all that was recorded so far. */
async function forgetAll(): Promise<void> {
  const { log } = stage.server.running;
  await forget({ log }, 1, log.head().position);
}

/** What kinds of events a thread has, once they are enough. What is erased cannot be streamed. */
async function until(threadId: string, areEnough: (kinds: readonly string[]) => boolean): Promise<readonly string[]> {
  const { log } = stage.server.running;
  const kinds = log.grown.pipe(
    startWith(0),
    map(() => log.readThread(threadId, 0, eventsMax).map(({ type }) => type)),
  );
  return firstValueFrom(kinds.pipe(filter(areEnough)));
}

function untilEnded(threadId: string): Promise<readonly string[]> {
  return until(threadId, (kinds) => kinds.includes("turnCompleted") || kinds.includes("turnFailed"));
}

describe("a summary", () => {
  const sixTurns = async (): Promise<string> => {
    const threadId = await stage.phone.newThread();
    for (let number = 1; number <= 6; number++) {
      await stage.phone.turn({ threadId, userText: `My number is 4711 (${number}).` });
    }
    return threadId;
  };
  const whole = (summary: Behaviour) => {
    stage.model.otherwise((exchange) => (isForSummary(exchange.request) ? summary : says("Yes."))(exchange));
  };

  test("does not outlive what it was made from, when that is forgotten", async () => {
    whole(says("Their number is 4711."));
    const threadId = await sixTurns();
    await stage.phone.until(threadId, "memoryCheckpointSaved");
    const { log } = stage.server.running;
    const summary = log.readThread(threadId, 0, eventsMax).find(({ type }) => type === "summaryWritten")!;
    await forget({ log }, 1, summary.position - 1);
    stage.model.otherwise(says("No."));
    const asked = stage.model.requests.length;
    await stage.phone.leave({ threadId, userText: "What is my number?" });
    await stage.model.asked(asked + 1);
    expect(JSON.stringify(stage.questions.at(-1))).not.toContain("4711");
  });

  test("is not written of what is forgotten while it is made", async () => {
    const held = gate();
    whole(streams(text("Their number"), held.opened, text("is 4711."), finish("stop"), usage(), done));
    const threadId = await sixTurns();
    await stage.phone.until(threadId, "modelCallStarted", 7);
    await stage.model.asked(7);
    await forgetAll();
    await stage.model.abandoned(1);
    held.open();
    const { log } = stage.server.running;
    await until(threadId, (kinds) => kinds.includes("modelCallFailed"));
    expect(log.readThread(threadId, 0, eventsMax).map(({ type }) => type)).not.toContain("summaryWritten");
  });
});

describe("when everything so far is forgotten,", () => {
  test("a turn that waits for the owner has nothing more to wait for, and goes on at once", async () => {
    stage.model.will(calls(post));
    stage.model.otherwise(says("What was it about?"));
    const threadId = await stage.phone.newThread();
    await stage.phone.leave({ threadId, userText: "Tell Ada." });
    await stage.phone.until(threadId, "turnPaused");
    await forgetAll();
    expect((await untilEnded(threadId)).at(-1)).toBe("turnCompleted");
    expect(stage.model.requests).toHaveLength(2);
  });

  test("a turn that is being answered is answered", async () => {
    const held = gate();
    const slow = streams(text("One "), held.opened, text("two."), finish("stop"), usage(), done);
    stage.model.will(calls(note), slow);
    const threadId = await stage.phone.newThread();
    await stage.phone.leave({ threadId, userText: "Count." });
    await stage.phone.until(threadId, "assistantTextDelta");
    await forgetAll();
    held.open();
    expect((await untilEnded(threadId)).at(-1)).toBe("turnCompleted");
    expect(stage.model.requests).toHaveLength(2);
  });

  test("a turn whose answer is cut off is asked again", async () => {
    const held = gate();
    stage.model.will(
      calls(note),
      streams(text("One "), held.opened, ({ response }) => Promise.resolve(response.destroy())),
    );
    stage.model.otherwise(says("Again."));
    const threadId = await stage.phone.newThread();
    await stage.phone.leave({ threadId, userText: "Count." });
    await stage.phone.until(threadId, "assistantTextDelta");
    await forgetAll();
    held.open();
    expect((await untilEnded(threadId)).at(-1)).toBe("turnCompleted");
    expect(stage.model.requests).toHaveLength(3);
  });
});
