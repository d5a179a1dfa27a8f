import { z } from "zod";
import { tool, type ActingTool, type Tool } from "../../../domain/approvals/index.js";
import { RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";

const spec = { name: "a_tool", version: 1, description: "", identity: "none", risk: RiskClass.WRITE } as const;
const anything = z.record(z.string(), z.unknown());
type Differences = Partial<Pick<Tool, "name" | "version" | "identity" | "risk">>;

/** A tool that writes in our own log only. */
export function internalTool(differences: Differences = {}): Tool {
  const record = () => ({ facts: [], text: "" });
  return tool({ ...spec, args: anything, kind: "internal", destination: "internal", record, ...differences });
}

/** A tool that reaches out, and only reads. */
export function readingTool(differences: Differences = {}): Tool {
  const execute = async () => ({ text: "", isFailure: false, origin: "" });
  const reads = { kind: "reading", destination: "external", isResultUntrusted: true, execute } as const;
  return tool({ ...spec, args: anything, risk: RiskClass.READ, ...reads, ...differences });
}

/** A tool that does something out there. What it says of a call is among the call's arguments. */
export function actingTool(differences: Differences & { undoSeconds?: number } = {}): ActingTool<unknown> {
  const unclear = async () => ({ outcome: "unknown", reason: "" }) as const;
  const made = tool<Record<string, unknown>>({
    ...{ ...spec, args: anything, kind: "acting", destination: "external", isResultUntrusted: false, undoSeconds: 0 },
    describe: ({ to = "ada", text = "hello" }) => ({
      ...{ summary: `Post to ${String(to)}`, target: String(to), recipients: [String(to)], urls: [] },
      body: String(text),
    }),
    execute: unclear,
    reconcile: unclear,
    ...differences,
  });
  if (made.kind !== "acting") throw new Error("it is another tool");
  return made;
}
