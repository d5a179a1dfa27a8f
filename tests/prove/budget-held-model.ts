import { setTimeout as pause } from "node:timers/promises";
import { BehaviorSubject, filter, firstValueFrom } from "rxjs";
import {
  ModelError,
  type Model,
  type ModelAnswer,
  type ModelDelta,
  type ModelRequest,
} from "../../commands/ports/index.js";
import { promptTokens } from "../../commands/threads/prompt.js";
import type { Random } from "../support/random.js";

const answerMillisMax = 12;
const againMillis = 5;

/** A model that takes up to all that is reserved for a call, sometimes does not count, and sometimes breaks off. */
export class SpendingModel implements Model {
  readonly provider = "stand-in";
  readonly #asked = new BehaviorSubject(0);
  readonly #broken = new Set<string>();
  #spent = 0;

  constructor(private readonly random: Random) {}

  /** Tokens that it has really taken, also for answers that nobody waited for. */
  get spent(): number {
    return this.#spent;
  }

  /** Resolves when so many more questions have come. */
  async askedMore(count: number): Promise<void> {
    const enough = this.#asked.value + count;
    await firstValueFrom(this.#asked.pipe(filter((asked) => asked >= enough)));
  }

  async ask(request: ModelRequest, onDelta: (delta: ModelDelta) => void, signal: AbortSignal): Promise<ModelAnswer> {
    // All that is random is drawn in the order of the questions.
    const millis = this.random.below(answerMillisMax);
    const answer = answerTo(request, this.random);
    const question = JSON.stringify(request.messages.slice(-1));
    // Once: one that breaks off again and again is another story.
    const breaksOff = this.random.chance(10) && !this.#broken.has(question);
    this.#asked.next(this.#asked.value + 1);
    const { inputTokens, outputTokens } = answer.usage ?? { inputTokens: 0, outputTokens: 0 };
    this.#spent += breaksOff ? inputTokens : inputTokens + outputTokens;
    try {
      await pause(millis, undefined, { signal });
    } catch {
      throw signal.reason;
    }
    onDelta({ kind: "text", text: answer.text });
    if (!breaksOff) return answer;
    this.#broken.add(question);
    throw new ModelError("cut", "It broke off.", againMillis);
  }
}

/** One or two steps: a note, perhaps, and then a text. */
function answerTo({ messages, tools, outputTokensMax }: ModelRequest, random: Random): ModelAnswer {
  const isNote = messages.at(-1)?.role === "user" && tools.length > 0 && random.chance(50);
  const argumentsJson = JSON.stringify({ title: "Note", text: "Something to keep." });
  const isGreedy = random.chance(30);
  const share = (tokensMax: number) => (isGreedy ? tokensMax : random.below(tokensMax + 1));
  const inputTokens = share(promptTokens(messages, tools));
  const usage = { inputTokens, outputTokens: share(outputTokensMax), cachedInputTokens: 0 };
  return {
    text: isNote ? "" : "That is how it is.",
    thinking: "",
    toolCalls: isNote ? [{ id: "call-1", name: "notes_write", argumentsJson }] : [],
    finishReason: isNote ? "tool_calls" : "stop",
    usage: random.chance(5) ? null : usage,
  };
}
