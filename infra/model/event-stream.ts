import type { Failures } from "./failures.js";

/** Of one event. */
const eventBytesMax = 4 * 1024 * 1024;
/** Of one answer as it comes over the wire; a token of text is wrapped in some 300 bytes. */
const answerBytesMax = 64 * 1024 * 1024;

/** Enough of a line to know what it is. */
const lineHeadBytes = 16;
const field = /^(:|(data|event|id|retry)(:|$))/;
/** The openai package takes these for another API's, and writes them to the console if they are broken. */
const foreignEvent = /^event: ?thread\./;

/**
 * Cuts bytes into whole server-sent events. The openai package skips lines that are no such thing, collects an event
 * without end in quadratic time, and reads on after the last one; so we look at what it gets.
 */
export class EventStream {
  #isDone = false;
  #lineHead = "";
  #unfinished: Uint8Array[] = [];
  #unfinishedBytes = 0;
  #answerBytes = 0;

  constructor(private readonly failures: Failures) {}

  /** Whether the last event has come. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Takes what has come; returns the events that are whole now, or null if none is. */
  take(bytes: Uint8Array): Uint8Array | null {
    this.#count(bytes.length);
    const wholeBytes = this.#readLines(bytes);
    if (wholeBytes === 0) {
      this.#unfinished.push(bytes);
      return null;
    }
    const whole = Buffer.concat([...this.#unfinished, bytes.subarray(0, wholeBytes)]);
    this.#unfinished = [bytes.subarray(wholeBytes)];
    this.#unfinishedBytes = bytes.length - wholeBytes;
    return whole;
  }

  /** Nothing more comes. A line that was cut off is not held against it if it began well. */
  end(): void {
    if (this.#lineHead.length >= "event:".length) this.#checkLine();
  }

  /** Returns how many of these bytes belong to whole events. */
  #readLines(bytes: Uint8Array): number {
    let wholeBytes = 0;
    let start = 0;
    for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
      this.#readHead(bytes.subarray(start, end));
      start = end + 1;
      if (this.#checkLine() === "blank") wholeBytes = start;
      this.#lineHead = "";
    }
    this.#readHead(bytes.subarray(start));
    return wholeBytes;
  }

  #readHead(line: Uint8Array): void {
    const missing = lineHeadBytes - this.#lineHead.length;
    if (missing > 0) this.#lineHead += Buffer.from(line.subarray(0, missing)).toString("latin1");
  }

  #checkLine(): "blank" | "field" {
    const head = this.#lineHead.replace(/\r$/, "");
    if (head === "") return "blank";
    if (!field.test(head)) throw this.failures.tell("malformed", "sent a line that is no server-sent event");
    if (foreignEvent.test(head)) throw this.failures.tell("malformed", "sent an event of another API");
    if (/^data: ?\[DONE\]/.test(head)) this.#isDone = true;
    return "field";
  }

  #count(bytes: number): void {
    this.#unfinishedBytes += bytes;
    this.#answerBytes += bytes;
    if (this.#unfinishedBytes > eventBytesMax) {
      throw this.failures.tell("malformed", `sent an event of more than ${eventBytesMax} bytes`);
    }
    if (this.#answerBytes > answerBytesMax) {
      throw this.failures.tell("malformed", `sent more than ${answerBytesMax} bytes`);
    }
  }
}
