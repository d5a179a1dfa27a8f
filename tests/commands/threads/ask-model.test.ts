import { expect, test } from "@jest/globals";
import { askModel } from "../../../commands/threads/ask-model.js";
import type { Question } from "../../../commands/threads/errand.js";
import type { TurnPorts } from "../../../commands/threads/turn-ports.js";
import type { Model } from "../../../commands/ports/index.js";
import { stepMillisMax } from "../../../domain/threads/index.js";
import { requestOf } from "../../support/turn-story.js";
import { ManualTimers } from "./manual-timers.js";

const place = { threadId: "t", turnId: "turn-1" };
const hour = 60 * 60_000;

/** A model that says something and then nothing more, asked in a step that ends so long after now. */
function ask(millisLeft: number) {
  const timers = new ManualTimers();
  const model: Model = {
    provider: "tester",
    ask: (_request, onDelta, signal) => {
      onDelta({ kind: "arguments", text: "abcdef" });
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reject(signal.reason as Error);
        });
      });
    },
  };
  const ports = {
    timers,
    clock: { now: () => 0 },
    random: { fraction: () => 0 },
    models: { primary: { model, name: "primary" }, fallback: null },
  } as unknown as TurnPorts; // It needs no more than these.
  const question: Question = {
    ...{ callId: "call 1", choice: "primary", stepEndsAt: millisLeft, inputTokens: 10 },
    ...{ messages: [], tools: [], mayCallTools: true },
  };
  const signals = { stop: new AbortController().signal, interrupt: new AbortController().signal };
  return { timers, asked: askModel(ports, place, requestOf("turn-1"), question, signals) };
}

test.each([
  ["the time that is left", 1_000, 1_000],
  ["a whole step, if the clock was set back meanwhile", hour, stepMillisMax],
])("a model is given %s, and what came until then is paid for", async (_what, millisLeft, millis) => {
  const { timers, asked } = ask(millisLeft);
  timers.pass(millis - 1);
  expect(timers.waiting).toBe(1);
  timers.pass(1);
  expect((await asked).outcome).toMatchObject({ kind: "unanswered", trouble: "timeout", chargedTokens: 12 });
  expect(timers.waiting).toBe(0);
});
