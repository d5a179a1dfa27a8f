import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { normalise } from "../../../domain/threads/index.js";
import { ReasoningVisibility } from "../../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { textsIn, thoughtsIn, WrittenOutput } from "./written-output.js";

const { REASONING_OFF, REASONING_SUMMARY, REASONING_RAW } = ReasoningVisibility;
const visibilities = fc.constantFrom(REASONING_OFF, REASONING_SUMMARY, REASONING_RAW);

const piece = fc.constantFrom("{", "}", "`", "```", "json", "j", "\n", " ", '"', "tea", "\u{1f980}", "x".repeat(1_500));
const texts = fc.oneof(
  fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join("")),
  fc.string({ unit: "grapheme", maxLength: 200 }),
);

/** How the text is cut, how long it takes, and what is thought meanwhile. */
const cuts = fc.array(
  fc.record({
    chars: fc.integer({ min: 1, max: 4_000 }),
    millis: fc.constantFrom(0, 1, 39, 40, 100),
    thought: fc.constantFrom("", "", "Hm. ", "So\n\n", "y".repeat(500)),
  }),
  { minLength: 1, maxLength: 60 },
);
type Cuts = typeof cuts extends fc.Arbitrary<infer T> ? T : never;

interface Told {
  readonly written: WrittenOutput;
  readonly thought: string;
}

/** Says a text in pieces. What is left when the cuts are through comes as one. */
function tell(text: string, all: Cuts, visibility = REASONING_SUMMARY): Told {
  const written = new WrittenOutput(visibility);
  let [said, thought] = [0, ""];
  for (const cut of [...all, { chars: text.length, millis: 0, thought: "" }]) {
    written
      .says(text.slice(said, said + cut.chars))
      .thinks(cut.thought)
      .pass(cut.millis);
    said += cut.chars;
    thought += cut.thought;
  }
  return { written: written.close(), thought };
}

describe("however an answer comes,", () => {
  test("what is written of it is the text, in its order, with nothing missing and nothing twice", () => {
    fc.assert(
      fc.property(texts, cuts, visibilities, (text, all, visibility) => {
        const { written } = tell(text, all, visibility);
        const rest = written.output.rest(text);
        expect([...written.texts, ...textsIn(rest)].join("")).toBe(text);
        expect(written.output.rest(text)).toEqual(rest);
        expect(written.timers.waiting).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("what is written of an object is what it says, and nothing of the object", () => {
    const objects = fc
      .record({ assistant_message: texts, proposed_actions: fc.constantFrom([], [{ tool: "t", args: {} }]) })
      .map((object) => JSON.stringify(object));
    const spaces = fc.constantFrom("", " ", "\n", "\t\n ", " ".repeat(70), "\uFEFF");
    const wrapped = fc
      .tuple(fc.constantFrom("", "```json\n", "```\n", "```json  \n\n"), spaces, objects)
      .map(([fence, space, object]) => `${space}${fence}${object}${fence === "" ? "" : "\n```"}${space}`);
    fc.assert(
      fc.property(wrapped, cuts, (text, all) => {
        const normalised = normalise({ text, toolCalls: [] });
        fc.pre(normalised.outcome === "valid");
        const { written } = tell(text, all);
        expect([...written.texts, ...textsIn(written.output.rest(normalised.text))].join("")).toBe(normalised.text);
      }),
    );
  });

  test("what is written of the thoughts is all of them, or their gist, or nothing", () => {
    fc.assert(
      fc.property(texts, cuts, visibilities, (text, all, visibility) => {
        const { written, thought } = tell(text, all, visibility);
        const told = [...written.thoughts, ...thoughtsIn(written.output.rest(text))].join("");
        if (visibility === REASONING_RAW) expect(told).toBe(thought);
        if (visibility === REASONING_OFF) expect(told).toBe("");
        if (visibility === REASONING_SUMMARY) expect(told.length).toBeLessThanOrEqual(thought.length + 1);
      }),
    );
  });

  test("no piece waits longer than 40 ms, unless it may become an object", () => {
    fc.assert(
      fc.property(texts, cuts, (text, all) => {
        const plain = `So: ${text}`;
        const written = new WrittenOutput();
        let said = 0;
        for (const { chars } of all) {
          written.says(plain.slice(said, (said += chars))).pass(40);
          expect(written.texts.join("")).toBe(plain.slice(0, said));
        }
      }),
    );
  });
});
