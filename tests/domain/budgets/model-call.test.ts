import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { callFailed, callFinished } from "../../../domain/budgets/index.js";
import { asRead } from "../../support/facts.js";

const tokens = fc.maxSafeNat();

test("what a call has cost comes back from the log as it was counted", () => {
  fc.assert(
    fc.property(tokens, tokens, tokens, fc.boolean(), (inputTokens, outputTokens, cachedInputTokens, isEstimated) => {
      const call = { provider: "p", model: "m", finishReason: "stop" };
      const counted = { inputTokens, outputTokens, cachedInputTokens, isEstimated };
      expect(asRead(callFinished("call 1", { ...call, ...counted })).value).toMatchObject({
        callId: "call 1",
        ...call,
        inputTokens: BigInt(inputTokens),
        outputTokens: BigInt(outputTokens),
        cachedInputTokens: BigInt(cachedInputTokens),
        estimated: isEstimated,
      });
    }),
  );
});

test("why an answer could not be used is said with the call, and nothing if it could", () => {
  const call = { provider: "p", model: "m", finishReason: "stop", isEstimated: false };
  const counted = { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0 };
  expect(asRead(callFinished("call 1", { ...call, ...counted })).value).toMatchObject({ unusableReason: "" });
  expect(asRead(callFinished("call 1", { ...call, ...counted }, "It is empty.")).value).toMatchObject({
    unusableReason: "It is empty.",
  });
});

test("why a call has no answer comes back from the log, whatever a provider said", () => {
  const words = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });
  fc.assert(
    fc.property(words, tokens, (message, chargedTokens) => {
      const call = { provider: "p", model: "m", trouble: "cut", message, chargedTokens };
      const { value } = callFailed("call 1", call);
      expect(asRead(callFailed("call 1", call)).value).toMatchObject(value);
      expect(value).toMatchObject({ reason: "cut", chargedTokens: BigInt(chargedTokens) });
    }),
  );
});
