import type { ReadingTool } from "../../domain/approvals/index.js";
import type { NewFact } from "../../domain/shared/index.js";
import { stepMillisMax, type ToolCall, type ToolFinished } from "../../domain/threads/index.js";
import type { Errand } from "./errand.js";
import type { TurnPlace, TurnPorts, TurnSignals } from "./turn-ports.js";

type Use = Extract<Errand, { kind: "use" }>;

interface Used {
  readonly text: string;
  readonly isFailure: boolean;
  readonly isTimeout?: boolean;
  readonly isUntrusted?: boolean;
  readonly origin?: string;
  readonly facts?: readonly NewFact[];
}

/** Makes one call that policy has allowed, within what is left of the step's time. Rejects if it is told to stop. */
export async function useTool(
  ports: TurnPorts,
  place: TurnPlace,
  errand: Use,
  signals: TurnSignals,
): Promise<ToolFinished> {
  const { call } = errand;
  const tool = ports.toolbox.find(call.tool);
  if (tool?.kind !== "reading") return useInternal(ports, place, call);
  const since = ports.clock.now();
  const parsed = tool.args.safeParse(call.args);
  // It was good when it was planned: the tool is another one now.
  if (!parsed.success) return finished(call, gone(call), 0);
  const used = await reachOut(ports, errand, tool, parsed.data, signals).catch((error: unknown) => {
    signals.stop.throwIfAborted();
    return brokeDown(ports, call, error);
  });
  signals.stop.throwIfAborted();
  return finished(call, used, ports.clock.now() - since);
}

/** What an internal tool does is facts, and takes no time: they are recorded with whatever led to them. */
export function useInternal(ports: TurnPorts, { threadId }: TurnPlace, call: ToolCall): ToolFinished {
  const tool = ports.toolbox.find(call.tool);
  const parsed = tool?.args.safeParse(call.args);
  // Policy lets nobody come here with a tool that acts outside.
  if (tool?.kind !== "internal" || parsed?.success !== true) return finished(call, gone(call), 0);
  try {
    const { facts, text } = tool.record(parsed.data, { executionId: call.executionId ?? "", threadId });
    return finished(call, { text, facts, isFailure: false }, 0);
  } catch (error) {
    return finished(call, brokeDown(ports, call, error), 0);
  }
}

function brokeDown({ onTrouble }: TurnPorts, call: ToolCall, error: unknown): Used {
  onTrouble(error, `using ${call.tool}`);
  return { text: "The tool broke down.", isFailure: true };
}

function finished(call: ToolCall, used: Used, durationMillis: number): ToolFinished {
  const usual = { isTimeout: false, isUntrusted: false, origin: "", facts: [] };
  return { kind: "tool_finished", call, durationMillis, ...usual, ...used };
}

async function reachOut(
  { clock, timers }: TurnPorts,
  { call, stepEndsAt }: Use,
  tool: ReadingTool<unknown>,
  args: unknown,
  { stop }: TurnSignals,
): Promise<Used> {
  const giveUp = new AbortController();
  const late: Used = { text: "The tool took longer than it may.", isFailure: true, isTimeout: true };
  // The clock may have been set back since the step began.
  const millisLeft = Math.min(stepMillisMax, Math.max(0, stepEndsAt - clock.now()));
  const { executionId, identity } = call;
  const signal = AbortSignal.any([stop, giveUp.signal]);
  // Also if the tool does not listen.
  const expired = new Promise<Used>((resolve) => {
    signal.addEventListener("abort", () => {
      resolve(late);
    });
  });
  const takeBack = timers.after(millisLeft, () => {
    giveUp.abort();
  });
  try {
    const answer = tool.execute(args, { executionId: executionId ?? "", identity, signal });
    return await Promise.race([answer.then((result) => ({ ...result, isUntrusted: tool.isResultUntrusted })), expired]);
  } finally {
    takeBack();
  }
}

function gone({ tool }: ToolCall): Used {
  return { text: `There is no tool ${tool} that could be called like that any more.`, isFailure: true };
}
