import { describe, expect, test } from "@jest/globals";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { ReasoningVisibility } from "../../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import {
  delta,
  done,
  finish,
  gate,
  says,
  streams,
  text,
  thinking,
  usage,
  type Piece,
} from "../../support/model-server.js";
import { textsIn, valuesOf } from "../../support/turn-client.js";
import { refusedBy } from "../rpc/protocols.js";
import { kindsOf, Stage } from "./stage.js";

const { REASONING_OFF, REASONING_SUMMARY, REASONING_RAW, REASONING_VISIBILITY_UNSPECIFIED } = ReasoningVisibility;

const paragraphs = [
  "The owner wants to know about tea. There are many kinds of it, and they never said which, so I have to guess.",
  "Green tea it is: that is what they had last week. I must not tell that I know; it was in a private note.",
];
const thought = paragraphs.join("\n\n");
const gist = "The owner wants to know about tea.\nGreen tea it is:\n";

/** Thinks this, and then answers. */
function thinks(...pieces: Piece[]) {
  return streams(pieces, text("Green tea."), finish("stop"), usage(), done);
}

async function turnWith(stage: Stage, reasoningVisibility: ReasoningVisibility): Promise<ThreadEvent[]> {
  return stage.phone.turn({ threadId: await stage.phone.newThread(), userText: "Tea?", reasoningVisibility });
}

function thoughtsIn(events: readonly ThreadEvent[]): string {
  return valuesOf(events, "assistantThinkingDelta").reduce((all, piece) => all + piece.delta, "");
}

describe("what a model thinks", () => {
  const stage = new Stage();

  test.each([REASONING_VISIBILITY_UNSPECIFIED, REASONING_SUMMARY])(
    "is shown as a gist, unless something else is asked for (%i)",
    async (visibility) => {
      stage.model.will(thinks(...thinking(...thought.split(/(?<= )/))));
      const events = await turnWith(stage, visibility);
      expect(thoughtsIn(events)).toBe(gist);
      for (const piece of valuesOf(events, "assistantThinkingDelta")) {
        expect(piece).toMatchObject({ visibility: REASONING_SUMMARY, redacted: true });
      }
      expect(textsIn(events)).toEqual(["Green tea."]);
    },
  );

  test("is shown as a gist of at most so much of a paragraph that has no end", async () => {
    stage.model.will(thinks(...thinking(...Array.from({ length: 500 }, () => "and so on "))));
    const shown = thoughtsIn(await turnWith(stage, REASONING_SUMMARY));
    expect(shown).toHaveLength(161);
    expect(shown).toMatch(/^and so on .*…\n$/);
  });

  test("is nowhere else: not in the thread, not in what the model is shown next, not in a summary", async () => {
    stage.model.will(thinks(...thinking(thought)), says("Yes."));
    const events = await turnWith(stage, REASONING_SUMMARY);
    const { threadId } = events[0]!;
    await stage.phone.turn({ threadId, userText: "Really?" });
    const logged = stage.server.running.log
      .readAll(0, 500)
      .map(({ event }) => Buffer.from(event ?? []).toString("latin1"));
    expect(logged.join("")).toContain("The owner wants to know about tea.");
    expect(logged.join("")).not.toContain("private note");
    expect(JSON.stringify(stage.model.requests)).not.toContain("private note");
  });

  test("is shown while it thinks", async () => {
    const held = gate();
    stage.model.will(thinks(...thinking(paragraphs[0]!), held.opened, ...thinking("\n\n", paragraphs[1]!)));
    const turn = stage.phone.begin({ threadId: await stage.phone.newThread(), userText: "Tea?" });
    await turn.saw("assistantThinkingDelta");
    expect(thoughtsIn(turn.events)).toBe("The owner wants to know about tea.\n");
    held.open();
    await turn.ended;
    expect(thoughtsIn(turn.events)).toBe(gist);
  });

  // A paragraph that ends with one piece and begins with the next is not seen as one.
  test("has the same gist however it is cut", async () => {
    stage.model.will(thinks(...thinking(`${paragraphs[0]}\n`, `\n${paragraphs[1]}`)));
    expect(thoughtsIn(await turnWith(stage, REASONING_SUMMARY))).toBe(gist);
  });

  test("is not shown at all to those who want it off", async () => {
    stage.model.will(thinks(...thinking(thought)));
    const events = await turnWith(stage, REASONING_OFF);
    expect(kindsOf(events)).not.toContain("assistantThinkingDelta");
    expect(textsIn(events)).toEqual(["Green tea."]);
  });

  test("is not shown raw: who asks for that is refused, and nothing is recorded", async () => {
    const threadId = await stage.phone.newThread();
    const asked = { threadId, userText: "Tea?", clientMessageId: "m", reasoningVisibility: REASONING_RAW };
    const refused = { code: "PermissionDenied", refusal: "reasoning_not_allowed" };
    expect(await refusedBy(stage.phone.turn(asked))).toMatchObject(refused);
    expect(kindsOf(await stage.phone.replay(threadId))).toEqual(["threadCreated"]);
    expect(stage.model.requests).toEqual([]);
  });
});

describe("where raw reasoning is allowed", () => {
  const stage = new Stage({ allowsRawReasoning: true });

  test("it is shown to those who ask for it, all of it", async () => {
    stage.model.will(thinks(...thinking(...thought.split(/(?<= )/))));
    const events = await turnWith(stage, REASONING_RAW);
    expect(thoughtsIn(events)).toBe(thought);
    for (const piece of valuesOf(events, "assistantThinkingDelta")) {
      expect(piece).toMatchObject({ visibility: REASONING_RAW, redacted: false });
    }
    expect(valuesOf(events, "assistantThinkingDelta").length).toBeLessThan(10);
  });

  test("it is shown whatever the provider calls it", async () => {
    stage.model.will(thinks(delta({ reasoning_content: thought })));
    expect(thoughtsIn(await turnWith(stage, REASONING_RAW))).toBe(thought);
  });

  test("it is not shown to those who do not ask", async () => {
    stage.model.will(thinks(...thinking(thought)), thinks(...thinking(thought)));
    expect(thoughtsIn(await turnWith(stage, REASONING_VISIBILITY_UNSPECIFIED))).toBe(gist);
    expect(thoughtsIn(await turnWith(stage, REASONING_OFF))).toBe("");
  });
});
