import type { Append, ExpectedVersion, StreamWrite } from "../../commands/ports/index.js";
import { evolveDevices, initialDevices, type Devices } from "../../domain/devices/index.js";
import type { NewFact, RecordedEvent } from "../../domain/shared/index.js";
import { replay, tail, verifyLog, type StoredEvent } from "../../infra/event-log/index.js";
import { rebuild } from "../../infra/projector/index.js";
import { projections as allProjections } from "../../projections/index.js";
import type { Projection } from "../../projections/shared/projection.js";
import { actionFactKinds, actionFacts, noActions, type ActionFactKind, type Actions } from "./actions-in-history.js";
import { appendOf, write } from "./appends.js";
import { openBackend, type Backend } from "./backend.js";
import { differences, forget } from "./conversation.js";
import { ownerFactKinds, ownerFacts, type OwnerFactKind } from "./owner-facts.js";
import { answered, asRead, delta, said, threadCreated, threadDeleted, titled } from "./facts.js";
import { noTurns, turnFactKinds, turnFacts, type TurnFactKind, type Turns } from "./turns-in-history.js";

const threadFactKinds = ["said", "answered", "titled", "delta", "deleted"] as const;
/** What can happen. A projection that handles none of it is not tested by these histories. */
export const factKinds = [...threadFactKinds, ...turnFactKinds, ...actionFactKinds, ...ownerFactKinds] as const;
export const threadCount = 3;

/** One append of a group: whether what it expects is true, and whether it has a key. */
export interface AppendPlan {
  readonly thread: number;
  readonly expects: "anything" | "the truth" | "something else";
  readonly facts: readonly (typeof factKinds)[number][];
  readonly hasKey: boolean;
}

/** One thing that can happen to a backend. Numbers are taken modulo what there is. */
export type Step =
  | { readonly what: "append"; readonly group: readonly AppendPlan[] }
  | { readonly what: "retry"; readonly which: number; readonly asksForOther: boolean }
  | { readonly what: "erase"; readonly first: number; readonly length: number }
  | { readonly what: "restart" }
  | { readonly what: "rebuild" };

/** What is known before an append; only one that succeeds changes it. */
interface Known {
  readonly versions: Map<string, number>;
  /** How many threads were deleted, for each number that a plan can name: the next one takes its place. */
  readonly deleted: Map<number, number>;
  readonly turns: Map<string, Turns>;
  readonly actions: Map<string, Actions>;
  devices: Devices;
}

/** Lives through any sequence of steps, knows what must come of each, and throws where it does not. */
export class History {
  readonly #known: Known = {
    versions: new Map(),
    deleted: new Map(),
    turns: new Map(),
    actions: new Map(),
    devices: initialDevices,
  };
  readonly #acknowledged: RecordedEvent[] = [];
  readonly #keyed: { readonly append: Append; readonly events: readonly RecordedEvent[] }[] = [];
  /** What somebody saw who watched all the time. */
  readonly #watched: StoredEvent[] = [];
  #backend: Backend;
  #watching: Promise<void>;
  #stop = new AbortController();
  #onWatched: () => void = () => undefined;
  #names = 0;

  private constructor(
    private readonly directory: string,
    private readonly projections: readonly Projection[],
    backend: Backend,
  ) {
    this.#backend = backend;
    this.#watching = this.#watch();
  }

  static async begin(directory: string, projections: readonly Projection[] = allProjections): Promise<History> {
    const history = new History(directory, projections, await openBackend(directory, projections));
    await history.#appendGroup([{ thread: 0, expects: "the truth", facts: [], hasKey: false }]);
    return history;
  }

  async live(step: Step): Promise<void> {
    switch (step.what) {
      case "append":
        return this.#appendGroup(step.group);
      case "retry":
        return this.#retry(step.which, step.asksForOther);
      case "erase":
        return this.#erase(step.first, step.length);
      case "restart":
        return this.#restart();
      case "rebuild":
        return rebuild(this.#backend.log, this.#backend.store, this.projections);
    }
  }

  /** Everything was recorded once, in order, and is still there; nothing else is; the read models show it. */
  async check(): Promise<void> {
    const { log, projector } = this.#backend;
    const replayed = [...replay(log, { afterPosition: 0 })].flat();
    same("replay", replayed.map(placeOf), this.#acknowledged.map(placeOf));
    await this.#hasWatched(replayed.length);
    same("the watcher", this.#watched.map(placeOf), replayed.map(placeOf));
    same("positions", ...counted(replayed.map(({ position }) => position)));
    for (const stream of this.#known.versions.keys()) {
      same("versions", ...counted(replayed.filter((row) => row.stream === stream).map(({ version }) => version)));
      same("sequences", ...counted(log.readThread(stream, 0, 1_000).map(({ sequence }) => sequence!)));
    }
    const { problem } = await verifyLog(log, log.head());
    same("verification", problem, null);
    await projector.reached(replayed.length);
  }

  /** Rows that a rebuild by `reference` would show differently. */
  async differences(reference: readonly Projection[] = this.projections): Promise<number> {
    return (await differences(this.#backend, reference)).length;
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    this.#backend.close();
  }

  async #appendGroup(plans: readonly AppendPlan[]): Promise<void> {
    const group = plans.map((plan) => {
      const { writes, known } = this.#planned(plan);
      if (plan.expects === "something else") return { append: appendOf(...writes), outcome: "version_conflict" };
      Object.assign(this.#known, known);
      const key = { id: `key-${this.#names++}`, asked: { facts: plan.facts.length } };
      const append = appendOf(...writes);
      return { append: plan.hasKey ? { ...append, command: key } : append, outcome: "appended" };
    });
    const results = await Promise.all(group.map(({ append }) => this.#backend.log.append(append)));
    for (const [index, result] of results.entries()) {
      const { append, outcome } = group[index]!;
      same("outcome", result.outcome, outcome);
      if (result.outcome !== "appended") continue;
      same("repeated", result.repeated, false);
      this.#acknowledge(result.events);
      if (append.command !== undefined && result.events.length > 0) this.#keyed.push({ append, events: result.events });
    }
  }

  /** Only what the domain can record: a thread begins once and ends once, and nothing happens in it afterwards. */
  #planned(plan: AppendPlan): { writes: StreamWrite[]; known: Known } {
    const { versions, deleted, turns, actions, devices } = this.#known;
    const known: Known = {
      versions: new Map(versions),
      deleted: new Map(deleted),
      turns: new Map(turns),
      actions: new Map(actions),
      devices,
    };
    const thread = plan.thread % threadCount;
    const stream = `t-${thread}-${deleted.get(thread) ?? 0}`;
    const facts = new Map<string, NewFact[]>([[stream, versions.has(stream) ? [] : [threadCreated]]]);
    for (const kind of plan.facts) {
      const name = `${kind} ${this.#names++}`;
      if (isOwnerFactKind(kind)) {
        const happened = ownerFacts(known.devices, kind, name);
        facts.set(happened.stream, [...(facts.get(happened.stream) ?? []), ...happened.facts]);
        known.devices = happened.facts.map(asRead).reduce(evolveDevices, known.devices);
      } else if (known.deleted.get(thread) !== deleted.get(thread)) {
        continue;
      } else if (isTurnFactKind(kind)) {
        const happened = turnFacts(known.turns.get(stream) ?? noTurns, kind, name);
        facts.get(stream)!.push(...happened.facts);
        known.turns.set(stream, happened.turns);
      } else if (isActionFactKind(kind)) {
        const happened = actionFacts(known.actions.get(stream) ?? noActions, kind, name);
        const to = happened.stream ?? stream;
        facts.set(to, [...(facts.get(to) ?? []), ...happened.facts]);
        known.actions.set(stream, happened.actions);
      } else {
        facts.get(stream)!.push({ said, answered, titled, delta, deleted: () => threadDeleted }[kind](name));
        if (kind === "deleted") known.deleted.set(thread, (deleted.get(thread) ?? 0) + 1);
      }
    }
    const writes = [...facts].map(([to, happened]) => {
      const actual = versions.get(to) ?? 0;
      if (happened.length > 0) known.versions.set(to, actual + happened.length);
      return { ...write(to, expectedOf(plan, actual), ...happened), threadId: isOf(stream, to) ? stream : null };
    });
    return { writes, known };
  }

  async #retry(which: number, asksForOther: boolean): Promise<void> {
    if (this.#keyed.length === 0) return;
    const { append, events } = this.#keyed[which % this.#keyed.length]!;
    const command = { id: append.command!.id, asked: asksForOther ? "something else" : append.command!.asked };
    const result = await this.#backend.log.append({ ...append, command });
    // Once its first event is erased, a key is all that is left of a command.
    const isErased = this.#backend.log.readAll(events[0]!.position - 1, 1)[0]!.event === null;
    same("outcome of a retry", result.outcome, asksForOther && !isErased ? "command_conflict" : "appended");
    if (result.outcome !== "appended") return;
    same("repeated", result.repeated, true);
    same("events of a retry", result.events.map(placeOf), events.map(placeOf));
  }

  async #erase(first: number, length: number): Promise<void> {
    const from = 1 + (first % this.#acknowledged.length);
    this.#acknowledge([await forget(this.#backend, from, from + length)]);
  }

  async #restart(): Promise<void> {
    await this.end();
    this.#stop = new AbortController();
    this.#backend = await openBackend(this.directory, this.projections);
    this.#watching = this.#watch();
  }

  async #watch(): Promise<void> {
    const cursor = { afterPosition: this.#watched.length };
    for await (const page of tail(this.#backend.log, cursor, this.#stop.signal)) {
      this.#watched.push(...page);
      this.#onWatched();
    }
  }

  #hasWatched(events: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onWatched = () => {
        if (this.#watched.length >= events) resolve();
      };
      this.#onWatched();
    });
  }

  #acknowledge(events: readonly RecordedEvent[]): void {
    this.#acknowledged.push(...events);
  }
}

function isOwnerFactKind(kind: string): kind is OwnerFactKind {
  return (ownerFactKinds as readonly string[]).includes(kind);
}

function isTurnFactKind(kind: string): kind is TurnFactKind {
  return (turnFactKinds as readonly string[]).includes(kind);
}

function isActionFactKind(kind: string): kind is ActionFactKind {
  return (actionFactKinds as readonly string[]).includes(kind);
}

/** Whether what is recorded in a stream happens in a thread. */
function isOf(thread: string, stream: string): boolean {
  return stream === thread || stream.startsWith("action-");
}

function expectedOf({ expects }: AppendPlan, actual: number): ExpectedVersion {
  return expects === "anything" ? "any" : expects === "the truth" ? actual : actual + 7;
}

/** What an event keeps for ever, erased or not. */
function placeOf(event: StoredEvent | RecordedEvent): unknown[] {
  const { position, stream, version, sequence, type } = event;
  return [position, stream, version, sequence, type, "eventId" in event ? event.eventId : event.event_id];
}

function counted(numbers: readonly number[]): [number[], number[]] {
  return [[...numbers], numbers.map((_, index) => index + 1)];
}

function same(what: string, actual: unknown, expected: unknown): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(`${what}: ${found} instead of ${wanted}`);
}
