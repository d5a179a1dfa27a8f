import { describe, expect, test } from "@jest/globals";
import { DevicesService } from "../../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { calls, done, finish, gate, says, streams, text, usage, type Behaviour } from "../../support/model-server.js";
import { endOf, textsIn, valuesOf } from "../../support/turn-client.js";
import { untilEnd, untilOpenStreams } from "../../support/watcher.js";
import { refusedBy } from "../rpc/protocols.js";
import { codeOf, kindsOf, ofTurn, Phone, sequencesOf, Stage } from "./stage.js";

const stage = new Stage();
const lookUp = { id: "1", name: "weather_look_up", arguments: '{"city":"Bern"}' };
/** So much is written down at once. */
const long = (word: string) => word.repeat(5_000);
const answer: readonly Behaviour[] = [
  calls(lookUp),
  streams(text(long("a"), long("b"), "end"), finish("stop"), usage(), done),
];

async function message(clientMessageId = "m") {
  return { threadId: await stage.phone.newThread(), clientMessageId, userText: "How is the weather?" };
}

describe("a client that goes away in the middle", () => {
  test("does not take the turn with it; back with the same id, it gets the same turn from its start", async () => {
    const { phone, model } = stage;
    const held = gate();
    model.will(streams(text("It is "), held.opened, text("sunny."), finish("stop"), usage(), done));
    const asked = await message();
    const seen = await phone.leave(asked, 5);
    expect(kindsOf(seen).at(-1)).toBe("assistantTextDelta");
    await untilOpenStreams(stage.server.running.url, 0);
    held.open();
    await phone.until(asked.threadId, "turnCompleted");

    const replayed = await phone.turn(asked);
    expect(replayed.slice(0, 5)).toEqual(seen);
    expect(replayed).toEqual(ofTurn(seen[0]!.turnId, await phone.replay(asked.threadId)));
    expect(textsIn(replayed)).toEqual(["It is sunny."]);
    expect(model.requests).toHaveLength(1);
    expect(model.cuts).toBe(0);
  });

  test("comes back by its cursor without a gap or a repeat, wherever it was cut", async () => {
    const { phone, model } = stage;
    for (let cut = 1, isOver = false; !isOver; cut++) {
      model.will(...answer);
      const asked = await message();
      const before = await phone.leave(asked, cut);
      const after = await phone.turn({ ...asked, resumeFromSequence: before.at(-1)!.sequence });
      expect([...before, ...after]).toEqual(ofTurn(before[0]!.turnId, await phone.replay(asked.threadId)));
      expect(textsIn([...before, ...after])).toEqual([`${long("a")}${long("b")}end`]);
      isOver = after.length === 0;
      if (isOver) expect(cut).toBeGreaterThan(15);
    }
  });

  test("is told the rest of a turn that is over, from every sequence of its thread", async () => {
    const { phone, model } = stage;
    const asked = await message();
    model.will(says("First."), ...answer, says("Last."));
    await phone.turn({ ...asked, clientMessageId: "before" });
    const whole = await phone.turn(asked);
    await phone.turn({ ...asked, clientMessageId: "after" });
    const head = (await phone.replay(asked.threadId)).length;
    for (let sequence = 1n; sequence <= head; sequence++) {
      const rest = await phone.turn({ ...asked, resumeFromSequence: sequence });
      expect(sequencesOf(rest)).toEqual(sequencesOf(whole.filter((event) => event.sequence > sequence)));
    }
    expect(model.requests).toHaveLength(4);
    await untilOpenStreams(stage.server.running.url, 0);
  });

  test("is not kept waiting once its turn has ended, though another turn of the thread goes on", async () => {
    const { phone, model } = stage;
    const asked = await message();
    const held = gate();
    model.will(says("Done."), streams(text("I am "), held.opened, finish("stop"), usage(), done));
    const first = await phone.turn(asked);
    const second = phone.begin({ ...asked, clientMessageId: "another" });
    await second.saw("assistantTextDelta");
    const ends = [first.at(-1)!.sequence, second.events[0]!.sequence, second.events.at(-1)!.sequence];
    for (const resumeFromSequence of ends) expect(await phone.turn({ ...asked, resumeFromSequence })).toEqual([]);
    expect(endOf(second.events)).toBe("not at all");
    held.open();
    await second.ended;
  });

  test("because its device was revoked is told so, and the turn goes on", async () => {
    const { phone, model, server } = stage;
    const other = await server.pair("tablet");
    const tablet = new Phone(server, other.token);
    const held = gate();
    model.will(streams(text("It is "), held.opened, text("sunny."), finish("stop"), usage(), done));
    const asked = await message();
    const turn = tablet.begin(asked);
    await turn.saw("assistantTextDelta");
    await server.client(DevicesService, stage.token).revokeDevice({ deviceId: other.deviceId });
    expect(await codeOf(turn.ended)).toBe("Unauthenticated");
    held.open();
    const resumeFromSequence = turn.events.at(-1)!.sequence;
    expect(textsIn(await phone.turn({ ...asked, resumeFromSequence }))).toEqual(["It is sunny."]);
  });

  test("is told of a gap if its cursor is beyond the thread, and of what cannot be counted that it cannot", async () => {
    stage.model.will(says("Done."));
    const asked = await message();
    const { sequence } = (await stage.phone.turn(asked)).at(-1)!;
    const beyond = await untilEnd(stage.phone.turns.startTurn({ ...asked, resumeFromSequence: sequence + 1n }));
    expect(beyond.error).toBeNull();
    expect(beyond.messages).toMatchObject([
      { payload: { case: "streamGap", value: { requestedFromSequence: sequence + 1n } } },
    ]);
    const uncountable = stage.phone.turn({ ...asked, resumeFromSequence: 2n ** 64n - 1n });
    expect(await refusedBy(uncountable)).toMatchObject({ code: "InvalidArgument", refusal: "sequence_invalid" });
    const before = await stage.phone.replay(asked.threadId);
    const another = { ...asked, clientMessageId: "another", resumeFromSequence: 2n ** 64n - 1n };
    expect(await refusedBy(stage.phone.turn(another))).toMatchObject({ refusal: "sequence_invalid" });
    expect(await stage.phone.replay(asked.threadId)).toEqual(before); // Not even the message is recorded.
  });
});

describe("a message's id", () => {
  test("stands for one text: with another it is refused, and nothing is recorded", async () => {
    const { phone, model } = stage;
    model.will(says("Hello."));
    const asked = await message();
    await phone.turn(asked);
    const { threadId, clientMessageId } = asked;
    const before = await phone.replay(threadId);
    const reused = { code: "AlreadyExists", refusal: "command_reused" };
    expect(await refusedBy(phone.turn({ ...asked, userText: "Something else" }))).toMatchObject(reused);
    const sent = phone.turns.sendTurn({ threadId, clientMessageId, userText: "Something else" });
    expect(await refusedBy(sent)).toMatchObject(reused);
    expect(await phone.replay(threadId)).toEqual(before);
    expect(model.requests).toHaveLength(1);
  });

  test("is its thread's own", async () => {
    stage.model.will(says("Here."), says("There."));
    const here = await stage.phone.turn(await message());
    const there = await stage.phone.turn(await message());
    expect(there[0]!.turnId).not.toBe(here[0]!.turnId);
    expect([textsIn(here), textsIn(there)]).toEqual([["Here."], ["There."]]);
  });

  test("that is empty is none: the same text twice is two turns", async () => {
    const { phone, model } = stage;
    const asked = await message("");
    model.will(says("One."), says("Two."));
    const turns = [await phone.turn(asked), await phone.turn(asked)];
    expect(turns.map(textsIn)).toEqual([["One."], ["Two."]]);
    expect(valuesOf(await phone.replay(asked.threadId), "messageCommitted")).toHaveLength(2);
  });

  test("sent by two at once is one turn, and both see it", async () => {
    const { phone, model } = stage;
    const other = await stage.pairAnother();
    model.will(...answer);
    const asked = await message();
    const turns = await Promise.all([phone, other, phone, other].map((device) => device.turn(asked)));
    for (const events of turns) expect(events).toEqual(turns[0]);
    expect(model.requests).toHaveLength(2);
  });
});
