import {
  refuse,
  type Decision,
  type Fact,
  type Instant,
  type RecordedEvent,
  type Refusal,
} from "../domain/shared/index.js";
import type { Folds } from "./folds.js";
import type {
  AppendResult,
  CommandKey,
  EventLog,
  Provenance,
  ReadModels,
  SecretChanges,
  StreamWrite,
  VersionConflict,
} from "./ports/index.js";

/** How often a command is decided anew because somebody else changed what it had read. */
const attemptsMax = 10;
const pageEvents = 500;

export interface Handling {
  readonly log: EventLog;
  readonly readModels: ReadModels;
  /** What was read before is not read again, if somebody remembers it. */
  readonly folds?: Folds;
}

/** What one attempt concluded, and where its facts go. */
export interface Proposal {
  readonly stream: string;
  readonly threadId: string | null;
  readonly provenance: Provenance;
  readonly decision: Decision;
  /** What to keep and to forget with it. */
  readonly secrets?: SecretChanges;
}

/** Reads a stream and folds it into a state. Whatever was loaded must not have changed when the facts are recorded. */
export type Load = <State>(stream: string, initial: State, evolve: (state: State, fact: Fact) => State) => State;

export interface Command {
  readonly at: Instant;
  readonly key?: CommandKey;
  /**
   * Called again with fresh states when somebody else was faster. Several proposals are recorded together, in their
   * order, or not at all.
   */
  readonly decide: (load: Load) => Proposal | readonly Proposal[] | Refusal;
}

/** Events are empty when there was nothing to record; for a repeated key they are those of the first time. */
export type Handled = { readonly outcome: "done"; readonly events: readonly RecordedEvent[] } | Refusal;

/** The one way a command is carried out. When it is done, its events are durable, and the read models show them. */
export async function handle(handling: Handling, command: Command): Promise<Handled> {
  const { log, readModels } = handling;
  // 1. A retry gets the first answer, whatever has happened since.
  const recalled = command.key && log.recall(command.key);
  if (recalled) return answer(recalled, readModels);

  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    // 2. Load what the decision needs, remembering the versions.
    const versions = new Map<string, number>();
    const concluded = command.decide((stream, initial, evolve) => {
      const { state, version } = fold(handling, stream, initial, evolve);
      versions.set(stream, version);
      return state;
    });
    if ("outcome" in concluded) return concluded;
    const proposals: readonly Proposal[] = "stream" in concluded ? [concluded] : concluded;

    // 3. Decide.
    const refused = proposals.map(({ decision }) => decision).find(isRefusal);
    if (refused !== undefined) return refused;
    const writes = proposals.map(writeOf);
    if (writes.every(({ facts }) => facts.length === 0)) return { outcome: "done", events: [] };

    // 4. Record, provided that everything that was read is still true.
    const result = await log.append({
      occurredAt: command.at,
      writes: [...guardsOf(versions, writes), ...writes],
      ...(command.key && { command: command.key }),
      ...secretsOf(proposals),
    });
    if (result.outcome === "appended") handling.folds?.follow(result.events);
    if (result.outcome !== "version_conflict") return answer(result, readModels);
  }
  return refuse("too_much_contention", { attempts: attemptsMax });
}

async function answer(result: Exclude<AppendResult, VersionConflict>, readModels: ReadModels): Promise<Handled> {
  if (result.outcome === "command_conflict") return refuse("command_reused", { key: result.commandId });
  // 5. Answer once the read models show it.
  const last = result.events.at(-1);
  if (last !== undefined) await readModels.reached(last.position);
  return { outcome: "done", events: result.events };
}

function fold<State>(
  { log, folds }: Handling,
  stream: string,
  initial: State,
  evolve: (state: State, fact: Fact) => State,
): { readonly state: State; readonly version: number } {
  const known = folds?.recall(stream, evolve);
  if (known?.version === log.streamVersion(stream)) return known;
  let { state, version } = known ?? { state: initial, version: 0 };
  for (;;) {
    const events = log.readStream(stream, version, pageEvents);
    const last = events.at(-1);
    if (last === undefined) break;
    for (const { type, payload } of events) state = evolve(state, { case: type, value: payload } as Fact);
    version = last.version;
  }
  folds?.remember(stream, evolve, { state, version });
  return { state, version };
}

function isRefusal(decision: Decision): decision is Refusal {
  return decision.outcome === "refused";
}

function writeOf({ stream, threadId, provenance, decision }: Proposal): StreamWrite {
  const facts = isRefusal(decision) ? [] : decision.facts;
  return { stream, expected: "any", threadId, provenance, facts };
}

/** Everything that was read must still be as it was. */
function guardsOf(versions: ReadonlyMap<string, number>, [first]: readonly StreamWrite[]): readonly StreamWrite[] {
  if (first === undefined) return [];
  return [...versions].map(([stream, expected]) => ({ ...first, stream, expected, threadId: null, facts: [] }));
}

function secretsOf(proposals: readonly Proposal[]): { readonly secrets?: SecretChanges } {
  const changes = proposals.flatMap(({ secrets }) => secrets ?? []);
  if (changes.length === 0) return {};
  const keep = changes.flatMap((change) => change.keep);
  const forget = changes.flatMap((change) => change.forget);
  return { secrets: { keep, forget } };
}
