import type { Failures } from "./failures.js";

/** Of one event. */
const eventBytesMax = 4 * 1024 * 1024;
/** Of one answer as it comes over the wire; a token of text is wrapped in some 300 bytes. */
const answerBytesMax = 64 * 1024 * 1024;

/** Enough of a line to know what it is. */
const lineHeadBytes = 16;
const field = /^(data|event|id|retry)(:|$)/;
/** The openai package takes these for another API's, and writes them to the console if they are broken. */
const foreignEvent = /^event: ?thread\./;

const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * Cuts bytes into whole server-sent events. The openai package skips lines that are no such thing, takes the square of the
 * time for an event without end or for many at once, and reads on after the last one; so we look at what it gets.
 */
export class EventStream {
  #isDone = false;
  #lineHead = "";
  /** Whether the event that has begun says anything; blank lines and comments only keep the line open. */
  #saysSomething = false;
  #endsInReturn = false;
  #unfinished: Uint8Array[] = [];
  #unfinishedBytes = 0;
  #answerBytes = 0;

  constructor(private readonly failures: Failures) {}

  /** Whether the last event has come. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Takes what has come; returns the events that are whole now and say something, one by one. */
  take(bytes: Uint8Array): Uint8Array[] {
    this.#count(bytes.length);
    const whole: Uint8Array[] = [];
    let eventStart = 0;
    let start = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      this.#readLine(bytes.subarray(start, end));
      start = end + 1;
      const line = this.#checkLine();
      if (line === "field") this.#saysSomething = true;
      if (line === "blank") {
        if (this.#saysSomething) whole.push(Buffer.concat([...this.#unfinished, bytes.subarray(eventStart, start)]));
        this.#unfinished = [];
        this.#unfinishedBytes = bytes.length - start;
        this.#saysSomething = false;
        eventStart = start;
      }
      this.#lineHead = "";
      this.#endsInReturn = false;
    }
    this.#readLine(bytes.subarray(start));
    this.#unfinished.push(bytes.subarray(eventStart));
    return whole;
  }

  /** Nothing more comes. A line that was cut off is not held against it if it began well. */
  end(): void {
    if (this.#lineHead.length >= "event:".length) this.#checkLine();
  }

  /** A line, or what has come of it. */
  #readLine(line: Uint8Array): void {
    if (line.length === 0) return;
    // The openai package would take it for the end of a line; nobody ends lines like that.
    const returnAt = line.indexOf(carriageReturn);
    const isInside = this.#endsInReturn || (returnAt !== -1 && returnAt < line.length - 1);
    if (isInside) throw this.failures.tell("malformed", "sent a line with a carriage return inside");
    this.#endsInReturn = returnAt !== -1;
    const missing = lineHeadBytes - this.#lineHead.length;
    if (missing > 0) this.#lineHead += Buffer.from(line.subarray(0, missing)).toString("latin1");
  }

  #checkLine(): "blank" | "comment" | "field" {
    const head = this.#lineHead.replace(/\r$/, "");
    if (head === "") return "blank";
    if (head.startsWith(":")) return "comment";
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
