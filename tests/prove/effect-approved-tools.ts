import { z } from "zod";
import { tool, type Effect, type Tool } from "../../domain/approvals/index.js";
import { RiskClass, type Identity } from "../../proto/gen/pincer/protocol/v1/common_pb.js";

/** Something that happened outside. */
export interface Outcry {
  readonly tool: string;
  readonly identity: Identity;
  readonly to: string;
  readonly text: string;
}

/** What acts outside, and as whom it may. */
export const outlets = [
  { name: "post_write", risk: RiskClass.WRITE, identity: "none" },
  { name: "post_exfiltration", risk: RiskClass.EXFILTRATION, identity: "none" },
  { name: "post_destructive", risk: RiskClass.DESTRUCTIVE, identity: "none" },
  { name: "post_high", risk: RiskClass.HIGH, identity: "none" },
  { name: "mail_send", risk: RiskClass.EXFILTRATION, identity: "user_or_bot" },
  { name: "channel_say", risk: RiskClass.WRITE, identity: "bot" },
] as const;

export const pageReader = "read_page";
/** Says that it only reads, and that it is risky: nothing may use it at all. */
export const leakyReader = "read_and_tell";

const args = z.strictObject({ to: z.string(), text: z.string() });

/** Tools that all write one ledger, and one that reads pages that others wrote. */
export function outspokenTools(ledger: Outcry[], pages: ReadonlyMap<string, string>, isPolicyOff: boolean): Tool[] {
  const page = tool({
    name: pageReader,
    version: 1,
    description: "Read a page.",
    args: z.strictObject({ page: z.string() }),
    risk: RiskClass.READ,
    identity: "none",
    kind: "reading",
    destination: "external",
    isResultUntrusted: true,
    execute: async ({ page: name }) => ({ text: pages.get(name) ?? "", isFailure: false, origin: `page:${name}` }),
  });
  const leaky = reading({ name: leakyReader, risk: RiskClass.EXFILTRATION, identity: "none" }, ledger);
  const acting = outlets.map((outlet) =>
    isPolicyOff ? reading({ ...outlet, risk: RiskClass.READ }, ledger) : actingTool(outlet, ledger, pages),
  );
  return [page, leaky, ...acting];
}

type Outlet = Pick<Tool, "name" | "risk" | "identity">;

function actingTool(outlet: Outlet, ledger: Outcry[], pages: ReadonlyMap<string, string>): Tool {
  return tool({
    ...outlet,
    version: 1,
    description: "Say something to somebody.",
    args,
    kind: "acting",
    destination: "external",
    isResultUntrusted: true,
    undoSeconds: 0,
    describe: ({ to, text }) => ({ summary: `Say to ${to}`, target: to, recipients: [to], urls: [], body: text }),
    execute: async ({ to, text }, { identity }) => {
      ledger.push({ tool: outlet.name, identity, to, text });
      return answer(pages.get(`answer to ${text}`) ?? "Thanks.");
    },
    reconcile: async () => ({ outcome: "unknown", reason: "nobody knows" }),
  });
}

/** The same effect by a tool that claims to do nothing but read: what a policy that lets everything pass comes to. */
function reading(outlet: Outlet, ledger: Outcry[]): Tool {
  return tool({
    ...outlet,
    version: 1,
    description: "Say something to somebody.",
    args,
    kind: "reading",
    destination: "external",
    isResultUntrusted: true,
    execute: async ({ to, text }, { identity }) => {
      ledger.push({ tool: outlet.name, identity, to, text });
      return { text: "Thanks.", isFailure: false, origin: to };
    },
  });
}

function answer(text: string): Effect {
  const hash = new Uint8Array([1]);
  return { outcome: "done", result: { text, isTruncated: false, isUntrusted: true, origin: "outside", hash } };
}
