import { setImmediate } from "node:timers/promises";
import type { Model, ModelDelta, ModelMessage, ModelRequest, ModelToolCall } from "../../commands/ports/model.js";
import { exampleOf } from "./offline-schema.js";
import { wishesOf, type Wish } from "./offline-wishes.js";

export const offlineModelName = "offline";

const charactersPerToken = 4;
const wordsPerPiece = 3;
const callsMax = 5;
const echoLengthMax = 200;
const resultLengthMax = 300;
const toolsNamedMax = 30;
const summaryLengthMax = 1_500;
const summaryLineLengthMax = 120;

const whoIAm = "I am Pincer's built-in offline model, not a language model.";
const summaryTitle =
  "Summary made offline, by Pincer's built-in offline model and not by a language model. The owner said:";
const howToChange = "For a real one, set PINCER_OPENROUTER_API_KEY and PINCER_MODEL_PRIMARY.";
const signature = [whoIAm, howToChange];
const complaint = "Your answer could not be used:";

interface Reply {
  /** What it has understood. */
  readonly thinking: string;
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
}

/**
 * Answers without a network and without a key, the same every time, so that everything around a model can be tried. It
 * calls the tools that the owner's last message names in plain words, and does nothing because of what a tool returned.
 */
export const offlineModel: Model = {
  provider: "offline",
  ask: async (request, onDelta, signal) => {
    signal.throwIfAborted();
    const { finishReason, ...reply } = fitted(replyTo(request), Math.max(1, request.outputTokensMax));
    for (const delta of deltasOf(reply)) {
      onDelta(delta);
      // Others have their turn between two pieces, as they have while a network is waited for.
      await setImmediate();
      signal.throwIfAborted();
    }
    const inputTokens = tokensIn(request.messages.map(writtenIn).join(""));
    const usage = { inputTokens, outputTokens: tokensIn(writtenIn(reply)), cachedInputTokens: 0 };
    return { ...reply, finishReason, usage };
  },
};

/** As much of a reply as may be written. Half a call is none, and thinking is the first that can be done without. */
function fitted(reply: Reply, tokensMax: number): Reply & { readonly finishReason: string } {
  const callsTools = reply.toolCalls.length > 0;
  if (tokensIn(writtenIn(reply)) <= tokensMax) return { ...reply, finishReason: callsTools ? "tool_calls" : "stop" };
  if (reply.thinking !== "") return fitted({ ...reply, thinking: "" }, tokensMax);
  const text = callsTools ? `What I would call is longer than an answer may be. ${whoIAm}` : reply.text;
  const cut = withoutHalf(text.slice(0, tokensMax * charactersPerToken));
  return { thinking: "", text: cut, toolCalls: [], finishReason: "length" };
}

function* deltasOf({ thinking, text, toolCalls }: Reply): Generator<ModelDelta> {
  if (thinking !== "") yield { kind: "thinking", text: thinking };
  const words = text.match(/\S+\s*|\s+/gu) ?? [];
  for (let at = 0; at < words.length; at += wordsPerPiece)
    yield { kind: "text", text: words.slice(at, at + wordsPerPiece).join("") };
  for (const { argumentsJson } of toolCalls) yield { kind: "arguments", text: argumentsJson };
}

function replyTo({ messages, tools: known, mayCallTools }: ModelRequest): Reply {
  if (isSummaryAskedFor(messages)) return summaryOf(messages);
  const lastAt = messages.findLastIndex(({ role }) => role === "user");
  const since = messages.slice(lastAt + 1);
  // From here on the results are spoken of; the message before them has been acted upon.
  if (since.some(({ role }) => role === "tool")) return reportOf(since);
  const said = (messages[lastAt]?.content ?? "").toWellFormed();
  // The loop says this in the owner's place. It names tools, but nobody asks for them again.
  if (said.startsWith(complaint))
    return inWords("My answer was refused.", [`I was told: "${shortened(said, resultLengthMax)}"`, ...signature]);
  const tools = mayCallTools ? known : [];
  const wishes = wishesOf(said, tools);
  const unclear = wishes.filter(({ missing }) => missing.length > 0);
  // All or nothing: who says it again, and better, must not have half of it done twice.
  if (unclear.length > 0) return questionAbout(unclear);
  if (wishes.length > 0) return callsOf(wishes);
  const names = tools.slice(0, toolsNamedMax).map(({ name }) => name);
  const more = tools.length > names.length ? ` and ${tools.length - names.length} more` : "";
  const example = tools.some(({ name }) => name === "notes_write") ? "note: buy milk" : tools.map(exampleOf)[0];
  return inWords("Nothing in this names a tool.", [
    `Hello! ${whoIAm}`,
    said.trim() === "" ? "You have not said anything yet." : `You said: "${shortened(said, echoLengthMax)}"`,
    example === undefined
      ? "There is no tool that I could call."
      : `I can call these tools: ${names.join(", ")}${more}. Say, for example: ${example}`,
    howToChange,
  ]);
}

function callsOf(wishes: readonly Wish[]): Reply {
  const granted = wishes.slice(0, callsMax);
  const names = granted.map(({ tool }) => tool.name).join(", ");
  const left = wishes.length - granted.length;
  const rest = left > 0 ? ` I make ${callsMax} calls at once; ask again for the other ${left}.` : "";
  const toolCalls = granted.map(({ tool: { name }, args }, index) => {
    return { id: `offline_${index + 1}`, name, argumentsJson: JSON.stringify(args) };
  });
  return { thinking: `This asks for ${names}.`, text: `${whoIAm} I ask for ${names}.${rest}`, toolCalls };
}

function questionAbout(unclear: readonly Wish[]): Reply {
  const questions = unclear.map(
    ({ tool, missing }) =>
      `To call ${tool.name}, I must be told its ${missing.join(", ")}. Say, for example: ${exampleOf(tool)}`,
  );
  const names = unclear.map(({ tool }) => tool.name).join(", ");
  return inWords(`This asks for ${names}, and does not say all of it.`, [whoIAm, ...questions, howToChange]);
}

function reportOf(messages: readonly ModelMessage[]): Reply {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const results = messages.filter((message) => message.role === "tool");
  const lines = results.map(({ toolCallId, content }) => {
    const name = calls.findLast(({ id }) => id === toolCallId)?.name ?? "a tool";
    const unwrapped = unfenced(content);
    const result = shortened(unwrapped, resultLengthMax);
    const others = unwrapped === content ? "" : ", in the words of others";
    return `- ${name}${others}: ${result === "" ? "(nothing)" : result}`;
  });
  return inWords(`Results to report: ${results.length}.`, ["This is what came back:", ...lines, ...signature]);
}

/** An earlier summary may be among the messages of any request; only who asks for one begins with that. */
function isSummaryAskedFor(messages: readonly ModelMessage[]): boolean {
  const first = messages.find(({ role }) => role === "system")?.content ?? "";
  return /^\s*write\b[^.\n]{0,40}\bsummary of the conversation/iu.test(first);
}

/** What the owner said, in short. If that is too much, the oldest is left out. */
function summaryOf(messages: readonly ModelMessage[]): Reply {
  const said = messages.flatMap(({ role, content }) => (role === "user" ? saidIn(unfenced(content)) : []));
  const kept: string[] = [];
  let length = summaryTitle.length;
  for (const line of said.map((text) => `- ${shortened(text, summaryLineLengthMax)}`).reverse()) {
    length += line.length + 1;
    if (length > summaryLengthMax) break;
    kept.unshift(line);
  }
  return inWords("This asks for a summary.", [summaryTitle, ...(kept.length > 0 ? kept : ["- nothing"])]);
}

/** A message is what was said, or a record of it, or an earlier summary of ours. */
function saidIn(text: string): readonly string[] {
  if (text.startsWith(summaryTitle)) return text.split("\n- ").slice(1);
  if (!/^(?:user|assistant|system): /u.test(text)) return [text];
  const spoken = text.split(/\n\n(?=(?:user|assistant|system): )/u);
  return spoken.filter((each) => each.startsWith("user: ")).map((each) => each.slice("user: ".length));
}

/** What others wrote, without the marks that say so. */
function unfenced(text: string): string {
  const opening = /<<<untrusted (\S+) [^\n]*\n[^\n]*\n/u.exec(text);
  if (opening === null) return text;
  const closing = `\nuntrusted ${opening[1]!}>>>`;
  const [start, end] = [opening.index + opening[0].length, text.lastIndexOf(closing)];
  if (end < start) return text;
  return text.slice(0, opening.index) + text.slice(start, end) + text.slice(end + closing.length);
}

function inWords(thinking: string, lines: readonly string[]): Reply {
  return { thinking, text: lines.join("\n"), toolCalls: [] };
}

/** On one line, and not longer than that. */
function shortened(text: string, lengthMax: number): string {
  const line = text.toWellFormed().replaceAll(/\s+/gu, " ").trim();
  return line.length <= lengthMax ? line : `${withoutHalf(line.slice(0, lengthMax - 1))}…`;
}

/** A cut may leave the first half of a character. */
function withoutHalf(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, "");
}

function writtenIn(message: ModelMessage | Reply): string {
  const calls = "toolCalls" in message ? message.toolCalls : [];
  const said = "text" in message ? message.thinking + message.text : message.content;
  return said + calls.map(({ name, argumentsJson }) => name + argumentsJson).join("");
}

function tokensIn(text: string): number {
  return Math.max(1, Math.ceil(text.length / charactersPerToken));
}
