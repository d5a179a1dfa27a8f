import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { notesWrite } from "../../../domain/memory/index.js";
import { accept, type NewFact } from "../../../domain/shared/index.js";
import { callsPerStepMax, conclude, type Answered, type Turn } from "../../../domain/threads/index.js";
import { Identity } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { given } from "../../support/given.js";
import {
  answer,
  asked,
  committed,
  failed,
  finished,
  noon,
  over,
  planned,
  proposed,
  repairAttempted,
  requestOf,
  retried,
  turn,
  used,
  withFallback,
  withoutFallback,
} from "../../support/turn-story.js";

const request = requestOf("turn-1");
const note = { title: "Tea", text: "Buy some." };

function hear(state: Turn, heard: Answered, rules = withFallback) {
  return accept(...conclude(request, state, heard, rules, noon));
}

describe("an answer that makes sense", () => {
  test("is a message", () => {
    given(turn, asked(1))
      .when(hear, answer("Good morning."))
      .thenRecords(finished(1), committed(1, "Good morning.", "call 1"));
  });

  test("is calls of tools, each with what policy says to it, in the order of the model", () => {
    given(turn, asked(1))
      .when(hear, answer("", ["notes_write", note], ["look_up", { what: "tea" }], ["mail_send", { to: "a@b.example" }]))
      .thenRecords(
        finished(1),
        ...planned(1, 1, "notes_write", note),
        ...planned(1, 2, "look_up", { what: "tea" }),
        ...planned(1, 3, "mail_send", { to: "a@b.example" }), // In whose name, it does not say.
      );
  });

  test("is both", () => {
    given(turn, asked(1))
      .when(hear, answer("One moment.", ["look_up", { what: "tea" }]))
      .thenRecords(finished(1), committed(1, "One moment.", "call 1"), ...planned(1, 1, "look_up", { what: "tea" }));
  });

  test("is no message if it says nothing but white space besides its calls", () => {
    given(turn, asked(1))
      .when(hear, answer(" \n", ["look_up", { what: "tea" }]))
      .thenRecords(finished(1), ...planned(1, 1, "look_up", { what: "tea" }));
  });

  test("is the object of the specification: as whom, and the model's own words for it, are kept", () => {
    const action = { tool: "mail_send", identity: "bot", args: { to: "a@b.example" }, justification: "You wanted it." };
    const text = JSON.stringify({ assistant_message: "I would.", proposed_actions: [action] });
    const said = { identity: Identity.BOT, justification: "You wanted it." };
    given(turn, asked(1))
      .when(hear, answer(text))
      .thenRecords(finished(1), committed(1, "I would.", "call 1"), ...proposed(1, 1, "a@b.example", said));
  });

  test("belongs to its step, whatever came before", () => {
    const before = [asked(1), finished(1), ...planned(1, 1, "look_up"), used(1, 1)];
    given(turn, ...before, asked(2))
      .when(hear, answer("There is tea.", ["look_up", { what: "milk" }]))
      .thenRecords(finished(2), committed(2, "There is tea.", "call 2"), ...planned(2, 1, "look_up", { what: "milk" }));
  });

  test("that was cut short because the model had too much to say tells so", () => {
    const heard = { ...answer("And then"), finishReason: "length" };
    const [, message] = conclude(request, given(turn, asked(1)).state, heard, withFallback, noon);
    expect(message?.value).toMatchObject({ fullText: "And then", metadata: { finish_reason: "length" } });
  });

  test.each(["rm_-rf", "__proto__", "constructor", "notes_write.", "NOTES_WRITE"])(
    "that calls a tool that there is not (%j) is not told to say it better: policy blocks the call",
    (tool) => {
      given(turn, asked(1))
        .when(hear, answer("", [tool, { anything: "goes" }], ["look_up", { what: "tea" }]))
        .thenRecords(
          finished(1),
          ...planned(1, 1, tool, { anything: "goes" }),
          ...planned(1, 2, "look_up", { what: "tea" }),
        );
    },
  );
});

const badCall = answer("", ["notes_write", { title: "Tea" }]);
const badCallReason = z.prettifyError(notesWrite.args.safeParse({ title: "Tea" }).error!);

describe.each([
  ["says nothing", answer(" "), " ", "the answer is empty"],
  [
    "calls a tool in a way that it does not want",
    badCall,
    JSON.stringify({ text: "", calls: badCall.toolCalls }),
    `arguments of notes_write: ${badCallReason}`,
  ],
  [
    "is the object of the specification, but badly",
    answer('{"assistant_message": 7'),
    '{"assistant_message": 7',
    "the answer is meant as a JSON object, and is none",
  ],
])("an answer that %s", (_what, heard, output, reason) => {
  const repair = (attempt: number, choice: "primary" | "fallback", time: number) =>
    repairAttempted(attempt, choice, { callId: `call ${time}`, reason, output });
  const useless = (time: number) => finished(time, reason);
  const firstRepair = [asked(1), useless(1), repair(1, "primary", 1)];
  const onFallback = [asked(1), failed(1, "rejected"), retried(1, "rejected", "fallback")];
  const end = over("FAILED_MODEL_OUTPUT", true);

  test("is told to the same model, with what was wrong", () => {
    given(turn, asked(1))
      .when(hear, heard)
      .thenRecords(useless(1), repair(1, "primary", 1));
  });

  test("is told to the other model at the second time", () => {
    given(turn, ...firstRepair, asked(2))
      .when(hear, heard)
      .thenRecords(useless(2), repair(2, "fallback", 2));
  });

  test("ends the turn at the third time", () => {
    given(turn, ...firstRepair, asked(2), useless(2), repair(2, "fallback", 2), asked(3, "fallback"))
      .when(hear, heard)
      .thenRecords(useless(3), end);
  });

  test("ends the turn at the second time, if there is no other model", () => {
    given(turn, asked(1))
      .when(hear, heard, withoutFallback)
      .thenRecords(useless(1), repair(1, "primary", 1));
    given(turn, ...firstRepair, asked(2))
      .when(hear, heard, withoutFallback)
      .thenRecords(useless(2), end);
  });

  test("ends the turn at the second time, if it was the other model already", () => {
    given(turn, ...onFallback, asked(2, "fallback"))
      .when(hear, heard)
      .thenRecords(useless(2), repair(1, "fallback", 2));
    given(turn, ...onFallback, asked(2, "fallback"), useless(2), repair(1, "fallback", 2), asked(3, "fallback"))
      .when(hear, heard)
      .thenRecords(useless(3), end);
  });

  test("ends the turn at the second time, if the other model was asked in between for another reason", () => {
    const cut = [asked(2), failed(2, "rejected"), retried(2, "rejected", "fallback"), asked(3, "fallback")];
    given(turn, ...firstRepair, ...cut)
      .when(hear, heard)
      .thenRecords(useless(3), end);
  });

  test("has its chances anew at the next step", () => {
    given(turn, ...firstRepair, asked(2), finished(2), ...planned(1, 1, "look_up"), used(1, 1), asked(3))
      .when(hear, heard)
      .thenRecords(useless(3), repair(1, "primary", 3));
  });
});

describe("an answer that calls tools in the last step", () => {
  const lastStep = requestOf("turn-1", { maxToolSteps: 1 });
  const late = answer("One moment.", ["look_up", { what: "tea" }]);
  const reason = "this is the last step of the turn, in which no tools can be called";
  const output = JSON.stringify({ text: "One moment.", calls: late.toolCalls });
  const repair = repairAttempted(1, "primary", { callId: "call 1", reason, output });
  const hearLast = (state: Turn, heard: Answered) => accept(...conclude(lastStep, state, heard, withoutFallback, noon));

  test("plans none of them: the model is told so, and may answer", () => {
    given(turn, asked(1)).when(hearLast, late).thenRecords(finished(1, reason), repair);
    given(turn, asked(1), finished(1, reason), repair, asked(2))
      .when(hearLast, answer("There is tea."))
      .thenRecords(finished(2), committed(1, "There is tea.", "call 2"));
  });

  test("plans none of them, either, if they are in the object of the specification, or nobody knows the tool", () => {
    const action = { tool: "rm_-rf", args: {} };
    const said = JSON.stringify({ assistant_message: "Now!", proposed_actions: [action] });
    for (const heard of [answer(said), answer("", ["rm_-rf", {}]), badCall]) {
      const facts = conclude(lastStep, given(turn, asked(1)).state, heard, withFallback, noon);
      expect(facts.map((fact) => fact.case)).toEqual(["modelCallFinished", "modelOutputRepairAttempted"]);
      expect(facts[1]?.value).toMatchObject({ reason });
    }
  });

  test("ends the turn if it comes again: it was not over after as many steps as it may have", () => {
    given(turn, asked(1), finished(1, reason), repair, asked(2))
      .when(hearLast, late)
      .thenRecords(finished(2, reason), over("TURN_STEP_LIMIT", false));
  });
});

describe("an answer that makes no sense", () => {
  /** What is wrong, word for word, is the validator's business. */
  function concluded(heard: Answered): readonly NewFact[] {
    return conclude(request, given(turn, asked(1)).state, heard, withFallback, noon);
  }

  const tooMany = Array.from({ length: callsPerStepMax + 1 }, () => ["look_up", { what: "x" }] as const);

  test.each<[string, Answered, string]>([
    ["nothing", answer(" \n"), "empty"],
    ["one bad call among good ones", answer("Yes.", ["look_up", { what: "x" }], ["look_up", {}]), "look_up"],
    ["an argument that the tool does not know", answer("", ["look_up", { what: "x", approved: true }]), "approved"],
    ["more calls than may be", answer("", ...tooMany), "at most"],
    ["no object as arguments", answer("", ["look_up", ["x"]]), "not a JSON object"],
    ["a tool that nobody could be called", answer("", ["rm -rf /", {}]), "names no tool"],
    ["a tool without a name", answer("", ["", {}]), "names no tool"],
    ["an action as somebody whom there is not", answer("", ["mail_send", { to: "a", identity: "root" }]), "identity"],
    ["half a character", answer("half a crab: \ud83e"), "well-formed Unicode"],
    ["half a character in an argument", answer("", ["look_up", { what: "\ud83e" }]), "well-formed Unicode"],
  ])("is one with %s; nothing of it is planned", (_what, heard, why) => {
    const facts = concluded(heard);
    expect(facts.map((fact) => fact.case)).toEqual(["modelCallFinished", "modelOutputRepairAttempted"]);
    expect(facts[0]?.value).toMatchObject({ unusableReason: expect.stringContaining(why) as unknown });
    expect(facts[1]?.value).toMatchObject({ reason: expect.stringContaining(why) as unknown });
  });

  test("is kept as far as it makes sense to show it again, well-formed", () => {
    const long = answer("", ["look_up", { nonsense: "\u{1f980}".repeat(100_000) }]);
    const [, repair] = concluded(long);
    const { output: kept = "" } = repair?.case === "modelOutputRepairAttempted" ? repair.value : {};
    expect(Buffer.byteLength(kept)).toBeGreaterThan(11_000);
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(12_000);
    expect(kept.isWellFormed()).toBe(true);
    expect(JSON.stringify({ text: "", calls: long.toolCalls }).startsWith(kept)).toBe(true);
  });

  test("is told in so many words and no more", () => {
    const loud = answer("", ["look_up", Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`more ${n}`, n]))]);
    const [call, repair] = concluded(loud);
    const { unusableReason = "" } = call?.case === "modelCallFinished" ? call.value : {};
    expect(Buffer.byteLength(unusableReason)).toBeGreaterThan(1_000);
    expect(Buffer.byteLength(unusableReason)).toBeLessThanOrEqual(1_500);
    expect(repair?.value).toMatchObject({ reason: unusableReason });
  });

  test("is kept as it was said, if it was a text", () => {
    const text = JSON.stringify({ assistant_message: 7 });
    const [, repair] = concluded(answer(text));
    expect(repair?.value).toMatchObject({ output: text });
  });
});

test("an answer to nothing that was asked is a bug", () => {
  expect(() => hear(turn.initial, answer("Good morning."))).toThrow("nothing that was asked");
});
