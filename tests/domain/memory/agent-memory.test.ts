import { describe, test } from "@jest/globals";
import { evolveAgentMemory, initialAgentMemory, updateAgentMemory } from "../../../domain/memory/index.js";
import { given } from "../../support/given.js";

const memory = { initial: initialAgentMemory, evolve: evolveAgentMemory };
const updated = (content: string) => ({ case: "agentMemoryUpdated", value: { content } }) as const;

describe("the assistant's memory", () => {
  test("is what the owner last said, and said again it is no news", () => {
    given(memory, updated("likes tea"))
      .when(updateAgentMemory, "likes coffee")
      .thenRecords(updated("likes coffee"))
      .when(updateAgentMemory, "likes coffee")
      .thenDoesNothing();
  });

  test("can be emptied, once there is something in it", () => {
    given(memory, updated("likes tea")).when(updateAgentMemory, "").thenRecords(updated(""));
  });

  test("has a limit", () => {
    given(memory)
      .when(updateAgentMemory, "x".repeat(64 * 1024 + 1))
      .thenRefuses("text_too_long", { textBytes: 64 * 1024 + 1, textBytesMax: 64 * 1024 });
  });
});
