import { z } from "zod";
import type { ModelToolCall } from "../../commands/ports/model.js";
import type { Failures } from "./failures.js";
import { WrittenText } from "./written-text.js";

const toolCallsMax = 64;
/** Of an id or a name. */
const nameBytesMax = 512;
/** Of all calls of an answer together. */
const argumentsBytesMax = 1024 * 1024;

const piece = z.string().nullish();

const toolCallDelta = z.object({
  index: z.number().int().min(0).nullish(),
  id: piece,
  function: z.object({ name: piece, arguments: piece }).nullish(),
});

type ToolCallDelta = z.infer<typeof toolCallDelta>;

/** Counted before each is looked at: every one that is wrong takes its time. */
export const toolCallDeltas = z.array(z.unknown()).max(toolCallsMax).pipe(z.array(toolCallDelta));

interface CallInProgress {
  id: string;
  name: string;
  readonly argumentsJson: WrittenText;
}

/** Puts tool calls together from their pieces. Which call a piece belongs to, its index says. */
export class ToolCalls {
  readonly #calls = new Map<number, CallInProgress>();
  #last = -1;
  #argumentsBytes = 0;

  constructor(private readonly failures: Failures) {}

  /** Takes the next piece; returns what it adds to the arguments. */
  add(delta: ToolCallDelta): string {
    const call = this.#callOf(delta);
    call.id = this.#joined(call.id, delta.id ?? "");
    call.name = this.#joined(call.name, delta.function?.name ?? "");
    const added = call.argumentsJson.add(delta.function?.arguments ?? "");
    this.#argumentsBytes += Buffer.byteLength(added);
    if (this.#argumentsBytes > argumentsBytesMax) throw this.#tooMuch(`${argumentsBytesMax} bytes of arguments`);
    return added;
  }

  /** In the order of their index. Ids that occur twice still do: what to make of that is for the one who calls. */
  finish(): ModelToolCall[] {
    return [...this.#calls]
      .sort(([a], [b]) => a - b)
      .map(([index, { id, name, argumentsJson }]) => ({
        id: id === "" ? `call_${index}` : id,
        name,
        argumentsJson: argumentsJson.text,
      }));
  }

  #callOf({ index, id }: ToolCallDelta): CallInProgress {
    // Without an index, an id begins the next call, and all else belongs to the last one.
    const isNext = this.#last === -1 || (id ?? "") !== "";
    this.#last = index ?? (isNext ? Math.max(-1, ...this.#calls.keys()) + 1 : this.#last);
    const known = this.#calls.get(this.#last);
    if (known !== undefined) return known;
    if (this.#calls.size === toolCallsMax) throw this.#tooMuch(`${toolCallsMax} tool calls`);
    const argumentsJson = new WrittenText(argumentsBytesMax, () =>
      this.#tooMuch(`${argumentsBytesMax} bytes of arguments`),
    );
    const begun: CallInProgress = { id: "", name: "", argumentsJson };
    this.#calls.set(this.#last, begun);
    return begun;
  }

  /** Some servers send an id and a name in pieces, others send them whole with every piece of the arguments. */
  #joined(known: string, next: string): string {
    if (next === known) return known;
    const joined = (known + next).toWellFormed();
    if (Buffer.byteLength(joined) > nameBytesMax) throw this.#tooMuch(`${nameBytesMax} bytes for a tool's name or id`);
    return joined;
  }

  #tooMuch(limit: string): Error {
    return this.failures.tell("malformed", `wrote more than ${limit}`);
  }
}
