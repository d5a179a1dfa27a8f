import { describe, expect, test } from "@jest/globals";
import { titleOf } from "../../../domain/threads/index.js";
import { done, fails, finish, gate, says, streams, text, usage } from "../../support/model-server.js";
import { valuesOf } from "../../support/turn-client.js";
import { kindsOf, Stage } from "./stage.js";

const stage = new Stage();

async function titles(): Promise<Record<string, string>> {
  const { items } = await stage.phone.threads.listThreads({});
  return Object.fromEntries(items.map(({ threadId, title }) => [threadId, title]));
}

describe("a thread's title", () => {
  test("comes with the end of its first turn, and is in the list then", async () => {
    const held = gate();
    stage.model.will(streams(text("It is "), held.opened, text("sunny."), finish("stop"), usage(), done));
    const threadId = await stage.phone.newThread();
    const turn = stage.phone.begin({ threadId, userText: "# How is the weather?\nIn Bern, I mean." });
    await turn.saw("assistantTextDelta");
    expect(await titles()).toEqual({ [threadId]: "" });
    held.open();
    await turn.ended;
    expect(await titles()).toEqual({ [threadId]: "How is the weather?" });
    expect(valuesOf(turn.events, "threadTitled")).toMatchObject([{ title: "How is the weather?" }]);
  });

  test("is made once, whatever is said later, and after a restart", async () => {
    stage.model.otherwise(says("Yes."));
    const threadId = await stage.phone.newThread();
    for (const userText of ["First things first", "Second"]) await stage.phone.turn({ threadId, userText });
    await stage.restart();
    await stage.phone.turn({ threadId, userText: "Third" });
    expect(kindsOf(await stage.phone.replay(threadId)).filter((kind) => kind === "threadTitled")).toHaveLength(1);
    expect(await titles()).toEqual({ [threadId]: "First things first" });
  });

  test("is the same for the same text, and no model is asked for it", async () => {
    stage.model.otherwise(says("Something else altogether."));
    const userText = `  \n* ${"A question that goes on and on ".repeat(9)}`;
    const threads = [await stage.phone.newThread(), await stage.phone.newThread()];
    for (const threadId of threads) await stage.phone.turn({ threadId, userText });
    expect(Object.values(await titles())).toEqual([titleOf(userText), titleOf(userText)]);
    expect(titleOf(userText)).toMatch(/^A question that .*…$/);
    expect(stage.model.requests).toHaveLength(2);
  });

  test("is there also if the turn fails", async () => {
    stage.model.will(fails(401));
    const threadId = await stage.phone.newThread();
    await stage.phone.turns.sendTurn({ threadId, userText: "Anybody there?" }).catch(() => undefined);
    expect(await titles()).toEqual({ [threadId]: "Anybody there?" });
  });

  test("comes later if the first text has nothing to be called after", async () => {
    stage.model.otherwise(says("Yes?"));
    const threadId = await stage.phone.newThread();
    await stage.phone.turn({ threadId, userText: "- \n" });
    expect(await titles()).toEqual({ [threadId]: "" });
    await stage.phone.turn({ threadId, userText: "Hello." });
    expect(await titles()).toEqual({ [threadId]: "Hello." });
  });
});
