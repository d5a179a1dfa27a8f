import { expect, test } from "@jest/globals";
import type { Tool } from "../../../domain/approvals/index.js";
import { outletTool } from "../../support/outlet.js";
import { Conveyor } from "./conveyor.js";

/** It has a lot to tell. */
const talkative = (url: string): Tool => {
  const usual = outletTool(url);
  if (usual.kind !== "acting") throw new Error("it is another tool");
  const result = { isTruncated: false, isUntrusted: false, origin: "", hash: new Uint8Array() };
  const text = "a lot ".repeat(200_000);
  return { ...usual, execute: async () => ({ outcome: "done" as const, result: { ...result, text } }) };
};
const conveyor = new Conveyor({ tools: (url) => [talkative(url)] });

test("what an action answers is told as far as a tool may tell, and no further", async () => {
  const { turnId } = await conveyor.approved();
  const told = await conveyor.until("toolExecutionFinished", turnId);
  const { result } = told.payload as { result: string };
  expect(result.length).toBeLessThan(200_000);
});
