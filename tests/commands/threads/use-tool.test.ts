import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import type { TurnPorts, TurnSignals } from "../../../commands/threads/turn-ports.js";
import { useTool } from "../../../commands/threads/use-tool.js";
import { tool, Toolbox, type ReadingTool, type Tool } from "../../../domain/approvals/index.js";
import { hour, minute } from "../../../domain/shared/index.js";
import type { ToolCall } from "../../../domain/threads/index.js";
import { Identity, PolicyDecision, RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ManualTimers } from "./manual-timers.js";

type Execute = ReadingTool<{ what: string }>["execute"];

const place = { threadId: "t", turnId: "turn-1" };

function looksUp(execute: Execute, isResultUntrusted = true): Tool {
  return tool({
    name: "look_up",
    version: 1,
    description: "",
    args: z.strictObject({ what: z.string() }),
    risk: RiskClass.READ,
    identity: "none",
    kind: "reading",
    destination: "external",
    isResultUntrusted,
    execute,
  });
}

function callOf(name: string, args: Readonly<Record<string, string>> = { what: "tea" }): ToolCall {
  return {
    ...{ toolCallId: "call 1", tool: name, args, identity: Identity.NONE, executionId: "run 1", result: null },
    ...{ decision: PolicyDecision.ALLOW_INTERNAL, reason: "read", actionId: null },
  };
}

/** A tool in use: what comes of it, and what may happen meanwhile. */
function use(one: Tool, call = callOf(one.name), stepEndsAt = 1_000) {
  const timers = new ManualTimers();
  const stop = new AbortController();
  const interrupt = new AbortController();
  const troubles: unknown[] = [];
  const ports = {
    timers,
    clock: { now: () => 0 },
    toolbox: new Toolbox([one]),
    onTrouble: (error: unknown) => troubles.push(error),
  } as unknown as TurnPorts; // It needs no more than these.
  const signals: TurnSignals = { stop: stop.signal, interrupt: interrupt.signal };
  const finished = useTool(ports, place, { kind: "use", call, stepEndsAt }, signals);
  finished.catch(() => undefined); // Whoever wants to know awaits it.
  return { timers, stop, interrupt, troubles, finished };
}

const never = () => new Promise<never>(() => undefined);
const answers: Execute = async ({ what }) => ({ text: what, isFailure: false, origin: "https://example.com/" });

describe("what comes of a tool", () => {
  test.each([true, false])("is others' word if the tool says so: %s", async (isUntrusted) => {
    const { finished, timers } = use(looksUp(answers, isUntrusted));
    expect(await finished).toMatchObject({
      text: "tea",
      isFailure: false,
      isUntrusted,
      origin: "https://example.com/",
    });
    expect(timers.waiting).toBe(0);
  });

  test("is others' word, too, if it says that it failed", async () => {
    const { finished } = use(looksUp(async () => ({ text: "Obey!", isFailure: true, origin: "" })));
    expect(await finished).toMatchObject({ text: "Obey!", isFailure: true, isUntrusted: true });
  });

  test("is ours to say when it broke down, or is late: nobody else has written that", async () => {
    const broken = use(
      looksUp(async () => {
        throw new Error("secret");
      }),
    );
    expect(await broken.finished).toMatchObject({
      ...{ text: "The tool broke down.", isFailure: true, isUntrusted: false, isTimeout: false, origin: "" },
    });
    expect(broken.troubles).toHaveLength(1);
    const late = use(looksUp(never));
    late.timers.pass(999);
    expect(late.timers.waiting).toBe(1);
    late.timers.pass(1);
    expect(await late.finished).toMatchObject({
      text: "The tool took longer than it may.",
      ...{ isFailure: true, isTimeout: true, isUntrusted: false, origin: "" },
    });
  });

  test("is waited for as long as a step may take at most, though the clock was set back", async () => {
    const late = use(looksUp(never), callOf("look_up"), hour);
    late.timers.pass(minute - 1);
    expect(late.timers.waiting).toBe(1);
    late.timers.pass(1);
    expect(await late.finished).toMatchObject({ isTimeout: true });
  });

  test("is nothing, once it is told to stop, whether or not the tool listens", async () => {
    for (const execute of [never, hangs, answers]) {
      const { finished, stop } = use(looksUp(execute));
      stop.abort(new Error("stop"));
      await expect(finished).rejects.toThrow("stop");
    }
  });

  test("is waited for, although a newer message came", async () => {
    let answer: () => void = () => undefined;
    const { finished, interrupt } = use(
      looksUp(async (_args, { signal }) => {
        await new Promise<void>((resolve) => (answer = resolve));
        return { text: String(signal.aborted), isFailure: false, origin: "" };
      }),
    );
    interrupt.abort();
    answer();
    expect(await finished).toMatchObject({ text: "false" });
  });

  test("is that it is gone, if it is, or takes other arguments now", async () => {
    const text = "There is no tool look_up that could be called like that any more.";
    const gone = { text, isFailure: true, isUntrusted: false };
    const other = looksUp(answers);
    expect(await use({ ...other, name: "another" }, callOf("look_up")).finished).toMatchObject(gone);
    expect(await use(other, callOf("look_up", { which: "tea" })).finished).toMatchObject(gone);
  });
});

test("a tool that acts is not used here, whoever has allowed it", async () => {
  let uses = 0;
  const acts = tool<object>({
    ...{ name: "act", version: 1, description: "", args: z.strictObject({}), risk: RiskClass.WRITE },
    ...{ identity: "none", kind: "acting", destination: "external", isResultUntrusted: false, undoSeconds: 0 },
    describe: () => ({ summary: "", target: "", recipients: [], urls: [], body: "" }),
    execute: async () => {
      uses += 1;
      return { outcome: "unknown", reason: "" } as const;
    },
    reconcile: async () => ({ outcome: "unknown", reason: "" }),
  });
  expect(await use(acts).finished).toMatchObject({ isFailure: true, facts: [] });
  expect(uses).toBe(0);
});

const hangs: Execute = (_args, { signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(new Error("it was told to give up"));
    });
  });
