import { estimateTokens } from "../../domain/budgets/index.js";
import type { NewFact } from "../../domain/shared/index.js";
import { messageTextBytesMax, ThinkingGist } from "../../domain/threads/index.js";
import { ReasoningVisibility } from "../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import type { ModelDelta, Timers } from "../ports/index.js";

/** How long a piece of an answer may wait for the next, so that they are one event: a token is not an fsync. */
export const deltaMillisMax = 40;
const deltaCharsMax = 4_096;
const objectStartChars = 64;
const thinkingCharsMax = 64 * 1024;

/**
 * Writes an answer down while it comes, a piece at a time. What may turn out to be an object and not a text, as the
 * specification asks of models that call no tools, is held back until it is known.
 */
export class TurnOutput {
  readonly #gist = new ThinkingGist();
  #text = "";
  #writtenChars = 0;
  #thinking = "";
  #thinkingChars = 0;
  /** Thoughts, and arguments of calls: what comes, and is no text. */
  #aside = "";
  #isRedacted = false;
  #isClosed = false;
  #takeBack: (() => void) | null = null;

  constructor(
    private readonly segmentId: string,
    private readonly visibility: ReasoningVisibility,
    private readonly timers: Timers,
    private readonly write: (facts: readonly NewFact[]) => void,
  ) {}

  /** About how many tokens have come. */
  get tokens(): number {
    return estimateTokens(this.#text) + estimateTokens(this.#aside);
  }

  add({ kind, text }: ModelDelta): void {
    if (this.#isClosed) return;
    if (kind === "text") this.#text += text;
    else this.#aside += text;
    if (kind === "thinking") this.#think(text);
    if (this.#unwritten().length + this.#thinking.length >= deltaCharsMax) this.#flush();
    else if (this.#unwritten() !== "" || this.#thinking !== "") {
      this.#takeBack ??= this.timers.after(deltaMillisMax, () => {
        this.#flush();
      });
    }
  }

  /** Nothing more comes, and nothing more is written from here. */
  close(): void {
    this.#isClosed = true;
    this.#stop();
    if (this.visibility === ReasoningVisibility.REASONING_SUMMARY) this.#thinking += this.#gist.end();
  }

  /** What is still to be written, so that everything written is `text`. */
  rest(text: string): readonly NewFact[] {
    return [...this.#thought(), ...this.#said(text.slice(this.#writtenChars))];
  }

  #think(text: string): void {
    const allowed = text.slice(0, Math.max(0, thinkingCharsMax - this.#thinkingChars));
    this.#thinkingChars += text.length;
    if (this.visibility === ReasoningVisibility.REASONING_OFF) return;
    const isRaw = this.visibility === ReasoningVisibility.REASONING_RAW;
    this.#isRedacted ||= !isRaw || allowed.length < text.length;
    this.#thinking += isRaw ? allowed.toWellFormed() : this.#gist.add(allowed);
  }

  #unwritten(): string {
    if (isPerhapsAnObject(this.#text)) return "";
    // Longer than a message may be, it will not become one; the log need not hold it.
    return this.#text.length > messageTextBytesMax ? "" : this.#text.slice(this.#writtenChars);
  }

  #flush(): void {
    this.#stop();
    const text = this.#unwritten();
    this.#writtenChars += text.length;
    const facts = [...this.#thought(), ...this.#said(text)];
    this.#thinking = "";
    if (facts.length > 0) this.write(facts);
  }

  #stop(): void {
    this.#takeBack?.();
    this.#takeBack = null;
  }

  #thought(): readonly NewFact[] {
    if (this.#thinking === "") return [];
    const { segmentId, visibility } = this;
    const value = { segmentId, delta: this.#thinking, redacted: this.#isRedacted, visibility };
    return [{ case: "assistantThinkingDelta", value }];
  }

  #said(delta: string): readonly NewFact[] {
    return delta === "" ? [] : [{ case: "assistantTextDelta", value: { segmentId: this.segmentId, delta } }];
  }
}

/** An object, or one in a fence, as far as it has come. */
function isPerhapsAnObject(text: string): boolean {
  return /^\s*(?:$|\{|`{1,2}$|```(?:j|js|jso|json)?\s*(?:$|\{))/u.test(text.slice(0, objectStartChars));
}
