import { z } from "zod";
import type { Identity, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { NewFact } from "../shared/index.js";

/** As whom a tool acts. Where there is an account, the call must say whose. */
export type IdentityRule = "none" | "user_or_bot" | "bot";

export interface ToolResult {
  /** What the model is told. */
  readonly text: string;
  readonly isFailure: boolean;
  /** Where it comes from, such as an address; empty if from here. */
  readonly origin: string;
}

/** What is the same of every tool. Its arguments are strict: one that it does not know is an error. */
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

/** Acts on our own log only: what it does is facts, and they are recorded with its result, or not at all. */
export interface InternalTool<Args> extends ToolSpec<Args> {
  readonly destination: "internal";
  readonly record: (args: Args, call: InternalCall) => { readonly facts: readonly NewFact[]; readonly text: string };
}

/** Reaches out. A READ may run again after a crash; anything else never does. */
export interface ExternalTool<Args> extends ToolSpec<Args> {
  readonly destination: "external";
  /** Whether others have a say in what it answers. */
  readonly isResultUntrusted: boolean;
  readonly execute: (args: Args, call: ExternalCall) => Promise<ToolResult>;
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
export type Tool = InternalTool<unknown> | ExternalTool<unknown>;

/** Says what a tool is, with its arguments' type known inside. */
export function tool<Args>(spec: InternalTool<Args> | ExternalTool<Args>): Tool {
  return spec as Tool; // Nobody hands it arguments that its own schema has not made.
}

/** All tools there are. One that is not here cannot be called. */
export class Toolbox {
  readonly #tools: ReadonlyMap<string, Tool>;

  constructor(tools: readonly Tool[]) {
    this.#tools = new Map(tools.map((one) => [one.name, one]));
    if (this.#tools.size < tools.length) throw new Error("two tools have the same name");
  }

  find(name: string): Tool | null {
    return this.#tools.get(name) ?? null;
  }

  get all(): readonly Tool[] {
    return [...this.#tools.values()];
  }
}

/** A tool's arguments as a JSON schema, for the model. */
export function parametersOf({ args }: Tool): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(args);
}
