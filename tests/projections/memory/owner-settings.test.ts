import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { findAgentMemory } from "../../../read-models/memory/index.js";
import { findHeartbeatConfig } from "../../../read-models/schedules/index.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const remembered = (content: string): NewFact => ({ case: "agentMemoryUpdated", value: { content } });
const configured = (tasksMarkdown: string): NewFact => ({
  case: "heartbeatConfigured",
  value: { enabled: true, intervalMinutes: 30, tasksMarkdown },
});

async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const fact of facts) await record(backend.log, appendOf({ ...write("s", "any", fact), threadId: null }));
  return backend;
}

describe("what the owner has set", () => {
  test("is the last of it", async () => {
    const backend = await after(remembered("tea"), configured("mail"), remembered("coffee"), configured("post"));
    expect(await findAgentMemory(backend.store.query)).toMatchObject({ content: "coffee" });
    expect(await findHeartbeatConfig(backend.store.query)).toMatchObject({ tasks_markdown: "post", enabled: 1 });
    expect(await differences(backend)).toEqual([]);
  });

  test("is gone when it was erased, and an older one does not come back", async () => {
    const backend = await after(remembered("tea"), configured("mail"), remembered("coffee"), configured("post"));
    await forget(backend, 3, 4);
    await backend.projector.reached(backend.log.head().position);
    expect(await findAgentMemory(backend.store.query)).toBeUndefined();
    expect(await findHeartbeatConfig(backend.store.query)).toBeUndefined();
    expect(await differences(backend)).toEqual([]);
  });

  test("stays when only an older one was erased", async () => {
    const backend = await after(remembered("tea"), remembered("coffee"));
    await forget(backend, 1);
    await backend.projector.reached(backend.log.head().position);
    expect(await findAgentMemory(backend.store.query)).toMatchObject({ content: "coffee" });
    expect(await differences(backend)).toEqual([]);
  });
});
