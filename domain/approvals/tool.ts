import { z } from "zod";
import type { Identity, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { CallSubject } from "./card-context.js";
import type { Effect } from "./execution.js";
import { looseAt } from "./strict-args.js";
import { minute, type NewFact } from "../shared/index.js";

/** As whom a tool acts. Where there is an account, the call must say whose. */
type IdentityRule = "none" | "user_or_bot" | "bot";

export interface ToolResult {
  /** What the model is told. */
  readonly text: string;
  readonly isFailure: boolean;
  /** Where it comes from, such as an address; empty if from here. */
  readonly origin: string;
}

/** What is the same of every tool. Its arguments are strict, all the way down: one that it does not know is an error. */
interface ToolSpec<Args> {
  readonly name: string;
  /** Counted up when the same arguments come to mean something else. */
  readonly version: number;
  /** For the model. */
  readonly description: string;
  readonly args: z.ZodType<Args>;
  readonly risk: RiskClass;
  readonly identity: IdentityRule;
}

/** An execution as it was recorded before it began. */
export interface Intent {
  readonly actionId: string;
  /** The same for every attempt: a provider that knows it does the same thing once. */
  readonly idempotencyKey: string;
  readonly identity: Identity;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** Acts on our own log only: what it does is facts, and they are recorded with its result, or not at all. */
export interface InternalTool<Args> extends ToolSpec<Args> {
  readonly kind: "internal";
  readonly destination: "internal";
  readonly record: (args: Args, call: InternalCall) => { readonly facts: readonly NewFact[]; readonly text: string };
}

/** Reaches out, and only reads: after a crash it reads again. */
export interface ReadingTool<Args> extends ToolSpec<Args> {
  readonly kind: "reading";
  readonly destination: "external";
  /** Whether others have a say in what it answers. */
  readonly isResultUntrusted: boolean;
  readonly execute: (args: Args, call: ExternalCall) => Promise<ToolResult>;
}

/** What an acting tool is held to when it is carried out. */
export interface ToolLimits {
  /** How long one attempt may take, and one question about it. */
  readonly attemptMillisMax: number;
  /** How often an action is tried that has certainly not happened. */
  readonly attemptsMax: number;
  /** How many actions of this tool are carried out at a time; the others wait. */
  readonly atOnceMax: number;
  /** How much of what it answers the thread is told. */
  readonly resultTokensMax: number;
}

/** Of a tool that says nothing else. */
export const defaultToolLimits: ToolLimits = {
  attemptMillisMax: minute,
  attemptsMax: 5,
  atOnceMax: 10,
  resultTokensMax: 16_000,
};

/** Reaches out, and something happens: only after the owner has approved exactly that, and never again by itself. */
export interface ActingTool<Args> extends ToolSpec<Args> {
  readonly kind: "acting";
  readonly destination: "external";
  readonly isResultUntrusted: boolean;
  /** How long an approval can be taken back. */
  readonly undoSeconds: number;
  /** Where it needs others than the usual ones. */
  readonly limits?: Partial<ToolLimits>;
  /** Why it cannot act as that identity now, such as an account that was disconnected; null if it can. It changes nothing. */
  readonly whyUnavailable?: (identity: Identity) => Promise<string | null>;
  /** Who and what is concerned, for the card. */
  readonly describe: (args: Args) => CallSubject;
  /**
   * Does it. "not_done" only if it has certainly not happened; whatever is not clear is "unknown", and so is whatever it
   * throws.
   */
  readonly execute: (args: Args, intent: Intent) => Promise<Effect>;
  /** Asks the provider whether it has happened. It changes nothing. */
  readonly reconcile: (args: Args, intent: Intent) => Promise<Effect>;
}

interface InternalCall {
  /** The same for the same call, always: what is made by it can be named after it. */
  readonly executionId: string;
  readonly threadId: string;
}

interface ExternalCall {
  readonly executionId: string;
  readonly identity: Identity;
  readonly signal: AbortSignal;
}

/** A tool whose arguments are checked by itself: whoever holds a list of tools does not know their types. */
export type Tool = InternalTool<unknown> | ReadingTool<unknown> | ActingTool<unknown>;

/** Says what a tool is, with its arguments' type known inside. */
export function tool<Args>(spec: InternalTool<Args> | ReadingTool<Args> | ActingTool<Args>): Tool {
  return spec as Tool; // Nobody hands it arguments that its own schema has not made.
}

/** All tools there are. One that is not here cannot be called, and one that takes just anything cannot be here. */
export class Toolbox {
  readonly #tools: ReadonlyMap<string, Tool>;

  constructor(tools: readonly Tool[]) {
    this.#tools = new Map(tools.map((one) => [one.name, one]));
    if (this.#tools.size < tools.length) throw new Error("two tools have the same name");
    for (const one of tools) {
      requireStrict(one);
      if (one.kind === "acting") requireLimits(one);
    }
  }

  find(name: string): Tool | null {
    return this.#tools.get(name) ?? null;
  }

  get all(): readonly Tool[] {
    return [...this.#tools.values()];
  }
}

export function limitsOf({ limits }: Pick<ActingTool<unknown>, "limits">): ToolLimits {
  return { ...defaultToolLimits, ...limits };
}

function requireStrict(tool: Tool): void {
  const loose = looseAt(parametersOf(tool));
  if (loose !== null) throw new Error(`${tool.name}: ${loose} must take no members that it does not know`);
}

function requireLimits(tool: ActingTool<unknown>): void {
  for (const [limit, value] of Object.entries(limitsOf(tool))) {
    if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${tool.name}: ${limit} is no whole number from 1`);
  }
}

/** A tool's arguments as a JSON schema, for the model. */
export function parametersOf({ args }: Tool): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(args, { io: "input" });
}
