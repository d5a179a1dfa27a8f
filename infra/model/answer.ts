import { z } from "zod";
import type { ModelAnswer, ModelDelta } from "../../commands/ports/model.js";
import type { Failures } from "./failures.js";
import { ToolCalls, toolCallDeltas } from "./tool-calls.js";
import { usageOf } from "./usage.js";
import { WrittenText } from "./written-text.js";

/** What one answer may hold. A model that goes on beyond it has lost its way. */
const textBytesMax = 512 * 1024;
const thinkingBytesMax = 1024 * 1024;
const finishReasonCharsMax = 64;

const written = z.string().nullish();

const choiceSchema = z.object({
  delta: z
    .object({
      content: written,
      refusal: written,
      /** OpenRouter's name for it, and DeepSeek's. Some servers send the same under both. */
      reasoning: written,
      reasoning_content: written,
      tool_calls: toolCallDeltas.nullish(),
    })
    .nullish(),
  finish_reason: z.string().max(finishReasonCharsMax).nullish(),
});

/** The part of a chunk that we read; servers add what they like. We ask for one choice. */
const chunkSchema = z.object({
  choices: z
    .array(z.unknown())
    .transform((choices) => choices.slice(0, 1))
    .pipe(z.array(choiceSchema))
    .nullish(),
  usage: z.unknown().optional(),
});

/** Puts an answer together from the chunks that it comes in. */
export class AnswerInProgress {
  readonly #text: WrittenText;
  readonly #thinking: WrittenText;
  readonly #toolCalls: ToolCalls;
  #finishReason: string | null = null;
  #usage: unknown = null;

  constructor(private readonly failures: Failures) {
    const tooLong = (what: string) => (bytesMax: number) =>
      failures.tell("malformed", `wrote more than ${bytesMax} bytes of ${what}`);
    this.#text = new WrittenText(textBytesMax, tooLong("text"));
    this.#thinking = new WrittenText(thinkingBytesMax, tooLong("thinking"));
    this.#toolCalls = new ToolCalls(failures);
  }

  /** Whether the model has said why it stopped. Only the count of tokens comes after that. */
  get isFinished(): boolean {
    return this.#finishReason !== null;
  }

  /** Takes the next chunk; returns what it adds. */
  add(chunk: unknown): ModelDelta[] {
    const { success, data } = chunkSchema.safeParse(chunk);
    if (!success) throw this.failures.tell("malformed", "sent a chunk that is no chat completion");
    this.#usage = data.usage ?? this.#usage;
    const choice = data.choices?.[0];
    const finishReason = choice?.finish_reason ?? "";
    // Some servers send an empty one with every piece.
    if (finishReason !== "") this.#finishReason = finishReason;
    if (this.#finishReason === "error") throw this.failures.tell("unavailable", "broke off with an error");

    const delta = choice?.delta ?? {};
    const argumentsAdded = (delta.tool_calls ?? []).map((call) => this.#toolCalls.add(call)).join("");
    const reasoning = delta.reasoning ?? "";
    const deltas: ModelDelta[] = [
      { kind: "thinking", text: this.#thinking.add(reasoning === "" ? (delta.reasoning_content ?? "") : reasoning) },
      // A refusal is what the model has to say.
      { kind: "text", text: this.#text.add((delta.content ?? "") + (delta.refusal ?? "")) },
      { kind: "arguments", text: argumentsAdded },
    ];
    return deltas.filter(({ text }) => text !== "");
  }

  /** The whole answer, if it is whole. */
  finish(): ModelAnswer {
    if (this.#finishReason === null) throw this.failures.tell("cut", "ended its answer before it was finished");
    return {
      text: this.#text.text,
      thinking: this.#thinking.text,
      toolCalls: this.#toolCalls.finish(),
      finishReason: this.#finishReason,
      usage: usageOf(this.#usage),
    };
  }
}
