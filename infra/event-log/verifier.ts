import { fromBinary } from "@bufbuild/protobuf";
import type { EventsErased } from "../../proto/gen/pincer/protocol/v1/log_events_pb.js";
import { ThreadEventSchema } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { digestOf, hashOf, saltBytes, type ChainRow } from "./chain.js";
import { emptyHead, type Head } from "./heads.js";
import { PositionSet } from "./position-set.js";

/** The first place where a log is not what was written. */
export interface Problem {
  /** null when the damage is in the file around the events. */
  readonly position: number | null;
  readonly what: string;
}

/** How a log looks as far as it was read: whole up to `head`, and not beyond if there is a problem. */
export interface Verdict {
  readonly head: Head;
  readonly erasedEvents: number;
  readonly problem: Problem | null;
}

/**
 * Walks the chain. Feed it every row in order, then ask for the verdict. It needs the rows and nothing else, so a
 * database and an export are verified by the same code.
 */
export class Verifier {
  #head: Head;
  #erasedEvents = 0;
  #problem: Problem | null = null;
  /** Erased events whose erasure has not been accounted for yet: the record of it comes later in the log. */
  readonly #unaccounted = new PositionSet();

  /** `known` is a head somebody kept elsewhere: this log must still contain it. */
  constructor(
    private readonly known: Head | null,
    after: Head = emptyHead,
  ) {
    this.#head = after;
  }

  /** Answers whether to go on; beyond the first problem nothing can be said. */
  next(row: ChainRow): boolean {
    this.#problem = this.#follow(row);
    return this.#problem === null;
  }

  verdict(): Verdict {
    return { head: this.#head, erasedEvents: this.#erasedEvents, problem: this.#problem ?? this.#whatIsMissing() };
  }

  #follow(row: ChainRow): Problem | null {
    const { position } = row;
    const expected = this.#head.position + 1;
    if (position < expected) return { position, what: "this event does not belong here" };
    if (position > expected) return { position: expected, what: "the event is missing" };
    const { digest } = row;
    if (row.event === null || row.salt === null) {
      if (row.event !== row.salt) return { position, what: "the event is neither whole nor erased" };
      if (row.type === "eventsErased") return { position, what: "the record of an erasure was erased" };
      this.#erasedEvents++;
      this.#unaccounted.add(position);
    } else if (row.salt.length !== saltBytes || digestOf(Buffer.concat([row.salt, row.event])) !== digest) {
      return { position, what: "the stored event is not the one that was recorded" };
    }
    const hash = hashOf(this.#head.hash, row, digest);
    if (hash !== row.hash) return { position, what: "the hash does not follow from the event and its predecessor" };
    if (position === this.known?.position && hash !== this.known.hash) {
      return { position, what: "the hash is not the one that was known" };
    }
    if (row.type === "eventsErased" && row.event !== null) this.#account(row.event);
    this.#head = { position, hash };
    return null;
  }

  #account(event: Uint8Array): void {
    const erased = fromBinary(ThreadEventSchema, event).payload.value as EventsErased;
    for (const { first, last } of erased.ranges) this.#unaccounted.removeRange(Number(first), Number(last));
  }

  #whatIsMissing(): Problem | null {
    const { position } = this.#head;
    if (this.known !== null && this.known.position > position) {
      return { position: position + 1, what: `the log ends before position ${this.known.position}, which was known` };
    }
    const unaccounted = this.#unaccounted.first();
    return unaccounted === null ? null : { position: unaccounted, what: "the event was erased, and nothing says why" };
  }
}
