import type { ExternalTool, Tool } from "../../domain/approvals/index.js";
import type { NewFact } from "../../domain/shared/index.js";
import type { ToolCall, ToolFinished } from "../../domain/threads/index.js";
import type { Errand } from "./errand.js";
import type { TurnPlace, TurnPorts, TurnSignals } from "./turn-ports.js";

type Use = Extract<Errand, { kind: "use" }>;

interface Used {
  readonly text: string;
  readonly isFailure: boolean;
  readonly isTimeout?: boolean;
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
  const since = ports.clock.now();
  const tool = ports.toolbox.find(call.tool);
  const used = tool === null ? gone(call) : await use(ports, place, errand, tool, signals);
  signals.stop.throwIfAborted();
  return {
    kind: "tool_finished",
    call,
    isTimeout: false,
    origin: "",
    facts: [],
    isUntrusted: tool?.destination === "external" && tool.isResultUntrusted,
    durationMillis: ports.clock.now() - since,
    ...used,
  };
}

async function use(
  ports: TurnPorts,
  { threadId }: TurnPlace,
  errand: Use,
  tool: Tool,
  signals: TurnSignals,
): Promise<Used> {
  const { call } = errand;
  const parsed = tool.args.safeParse(call.args);
  if (!parsed.success) return gone(call); // It was good when it was planned: the tool is another one now.
  try {
    if (tool.destination === "external") return await reachOut(ports, errand, tool, parsed.data, signals);
    const { facts, text } = tool.record(parsed.data, { executionId: call.executionId ?? "", threadId });
    return { text, facts, isFailure: false };
  } catch (error) {
    signals.stop.throwIfAborted();
    ports.onTrouble(error, `using ${call.tool}`);
    return { text: "The tool broke down.", isFailure: true };
  }
}

async function reachOut(
  { clock, timers }: TurnPorts,
  { call, stepEndsAt }: Use,
  tool: ExternalTool<unknown>,
  args: unknown,
  { stop }: TurnSignals,
): Promise<Used> {
  const giveUp = new AbortController();
  const late: Used = { text: "The tool took longer than it may.", isFailure: true, isTimeout: true };
  const millisLeft = Math.max(0, stepEndsAt - clock.now());
  const expired = new Promise<Used>((resolve) => {
    giveUp.signal.addEventListener("abort", () => {
      resolve(late);
    });
  });
  const takeBack = timers.after(millisLeft, () => {
    giveUp.abort();
  });
  const { executionId, identity } = call;
  const signal = AbortSignal.any([stop, giveUp.signal]);
  try {
    return await Promise.race([tool.execute(args, { executionId: executionId ?? "", identity, signal }), expired]);
  } finally {
    takeBack();
  }
}

function gone({ tool }: ToolCall): Used {
  return { text: `There is no tool ${tool} that could be called like that any more.`, isFailure: true };
}
