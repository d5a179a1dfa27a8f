import { z } from "zod";
import { argumentsDepthMax, argumentsLengthMax, refuseTextIfAny, tooLarge, whatIsOdd } from "../shared/index.js";
import { messageTextBytesMax } from "./message.js";

export const callsPerStepMax = 10;
const toolNameLengthMax = 100;
const justificationLengthMax = 2_000;
const whyLengthMax = 2_000;

/** What a model has said, as it said it. */
export interface ModelOutput {
  readonly text: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly argumentsJson: string }[];
}

/** A call that the model wants made. Nobody has decided anything about it yet. */
export interface PlannedCall {
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** As whom; null if the model did not say. */
  readonly identity: "user" | "bot" | null;
  /** The model's own words, and to be shown as such. */
  readonly justification: string;
}

type Normalised =
  | { readonly outcome: "valid"; readonly text: string; readonly calls: readonly PlannedCall[] }
  /** `why` is for the model, which gets one chance to say it better. */
  | { readonly outcome: "invalid"; readonly why: string };

/** It goes back to the provider with the result, and providers take no others. */
const toolName = z
  .string()
  .max(toolNameLengthMax)
  .regex(/^[\w.-]+$/);
const argumentsObject = z.record(z.string(), z.unknown());

/** The shape that the specification asks for of models without tool calling. */
const specified = z.strictObject({
  assistant_message: z.string(),
  proposed_actions: z
    .array(z.unknown())
    .max(callsPerStepMax)
    // Only then is each of them looked at: every one that is wrong takes its time.
    .pipe(
      z.array(
        z.strictObject({
          tool: toolName,
          identity: z.enum(["user", "bot"]).nullable().default(null),
          args: argumentsObject,
          justification: z.string().max(justificationLengthMax).default(""),
        }),
      ),
    )
    .default([]),
});

/**
 * Whatever way a model has of saying it, as one thing: a text, and calls in their order. It says what cannot be
 * understood; which tools there are, and whether anybody may call them, is not decided here.
 */
export function normalise(output: ModelOutput): Normalised {
  const normalised = output.toolCalls.length > 0 ? fromToolCalls(output) : fromText(output.text);
  if (normalised.outcome === "invalid") return normalised;
  const { text, calls } = normalised;
  if (text.trim() === "" && calls.length === 0) return invalid("the answer is empty");
  const refused = refuseTextIfAny(text, messageTextBytesMax);
  if (refused?.code === "text_too_long") return invalid(`the text is longer than ${messageTextBytesMax} bytes`);
  if (refused !== null) return invalid("the text is not well-formed Unicode");
  if (calls.length > callsPerStepMax)
    return invalid(`there are ${calls.length} calls; at most ${callsPerStepMax} may be`);
  const ids = new Set(calls.map(({ id }) => id));
  if (ids.size < calls.length) return invalid("two calls have the same id");
  return normalised;
}

function fromToolCalls({ text, toolCalls }: ModelOutput): Normalised {
  const calls: PlannedCall[] = [];
  for (const { id, name, argumentsJson } of toolCalls) {
    const tool = toolName.safeParse(name);
    if (!tool.success) return invalid(`the call ${quoted(id)} names no tool`);
    if (argumentsJson.length > argumentsLengthMax) return invalid(`the arguments of ${quoted(name)} ${tooLarge}`);
    // A tool without parameters is called with nothing by some models.
    const value = argumentsJson.trim() === "" ? {} : parsed(argumentsJson);
    const args = argumentsObject.safeParse(value);
    if (!args.success) return invalid(`the arguments of ${quoted(name)} are not a JSON object`);
    const wrong = whatIsOdd(value, argumentsDepthMax);
    if (wrong !== null) return invalid(`the arguments of ${quoted(name)} ${wrong}`);
    calls.push({ id, tool: tool.data, args: args.data, identity: null, justification: "" });
  }
  return { outcome: "valid", text, calls };
}

/** A text is a text, unless it is the object that the specification asks for. */
function fromText(text: string): Normalised {
  const trimmed = text.trim();
  const isPerhapsObject = /^(?:```(?:json)?\s*)?\{/u.test(trimmed) && trimmed.includes('"assistant_message"');
  if (!isPerhapsObject) return { outcome: "valid", text, calls: [] };
  if (text.length > argumentsLengthMax) return invalid(`the proposed actions ${tooLarge}`);
  const value = parsed(withoutFence(trimmed));
  if (value === undefined) return invalid("the answer is meant as a JSON object, and is none");
  const isMeantAsObject = typeof value === "object" && value !== null && "assistant_message" in value;
  if (!isMeantAsObject) return { outcome: "valid", text, calls: [] };
  const result = specified.safeParse(value);
  if (!result.success) return invalid(z.prettifyError(result.error));
  const { assistant_message, proposed_actions } = result.data;
  const wrong = whatIsOdd(value, argumentsDepthMax + 3);
  if (wrong !== null) return invalid(`the proposed actions ${wrong}`);
  // They have no ids of their own; their place among the others is one.
  const calls = proposed_actions.map((action, index) => ({ id: `action_${index + 1}`, ...action }));
  return { outcome: "valid", text: assistant_message, calls };
}

/** Models like to wrap JSON as if it were part of a text. */
function withoutFence(text: string): string {
  const firstLineEnd = text.indexOf("\n");
  const isFenced = ["```", "```json"].includes(text.slice(0, firstLineEnd).trimEnd()) && text.endsWith("\n```");
  return isFenced ? text.slice(firstLineEnd, -"```".length) : text;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // Whatever it is, it is no JSON, and whoever asks says what that means.
  }
}

function invalid(why: string): Normalised {
  return { outcome: "invalid", why: why.slice(0, whyLengthMax) };
}

/** Names come from the model: short, and recognisable as a name. */
function quoted(name: string): string {
  return JSON.stringify(name.slice(0, toolNameLengthMax));
}
