import { describe, expect, test } from "@jest/globals";
import { filter, firstValueFrom, map, startWith } from "rxjs";
import { forget } from "../../support/conversation.js";
import { calls, done, finish, gate, says, streams, text, usage } from "../../support/model-server.js";
import { outletTool } from "../../support/outlet.js";
import { Stage } from "./stage.js";

const stage = new Stage({}, { tools: [outletTool("http://127.0.0.1:9")] }); // Nobody comes to post anything.
const post = { id: "1", name: "outlet_post", arguments: JSON.stringify({ to: "ada", text: "hello" }) };
const note = { id: "1", name: "notes_write", arguments: JSON.stringify({ title: "Tea", text: "Buy some." }) };

const eventsMax = 1_000;

/** Erases all that was recorded so far. */
async function forgetAll(): Promise<void> {
  const { log } = stage.server.running;
  await forget({ log }, 1, log.head().position);
}

/** What kinds of events a thread has, once its turn has ended. From an erased one, nobody can be streamed. */
async function untilEnded(threadId: string): Promise<string[]> {
  const { log } = stage.server.running;
  const kinds = log.grown.pipe(
    startWith(0),
    map(() => log.readThread(threadId, 0, eventsMax).map(({ type }) => type)),
  );
  return firstValueFrom(kinds.pipe(filter((so) => so.includes("turnCompleted") || so.includes("turnFailed"))));
}

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
