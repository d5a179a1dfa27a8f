import {
  refuse,
  type Decision,
  type Fact,
  type Instant,
  type RecordedEvent,
  type Refusal,
} from "../domain/shared/index.js";
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
}

/** What one attempt concluded, and where its facts go. */
interface Proposal {
  readonly stream: string;
  readonly threadId: string | null;
  readonly provenance: Provenance;
  readonly decision: Decision;
  /** What to keep and to forget with it. */
  readonly secrets?: SecretChanges;
}

/** Reads a stream and folds it into a state. Whatever was loaded must not have changed when the facts are recorded. */
type Load = <State>(stream: string, initial: State, evolve: (state: State, fact: Fact) => State) => State;

export interface Command {
  readonly at: Instant;
  readonly key?: CommandKey;
  /** Called again with fresh states when somebody else was faster. */
  readonly decide: (load: Load) => Proposal;
}

/** Events are empty when there was nothing to record; for a repeated key they are those of the first time. */
export type Handled = { readonly outcome: "done"; readonly events: readonly RecordedEvent[] } | Refusal;

/** The one way a command is carried out. When it is done, its events are durable, and the read models show them. */
export async function handle({ log, readModels }: Handling, command: Command): Promise<Handled> {
  // 1. A retry gets the first answer, whatever has happened since.
  const recalled = command.key && log.recall(command.key);
  if (recalled) return answer(recalled, readModels);

  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    // 2. Load what the decision needs, remembering the versions.
    const versions = new Map<string, number>();
    const proposal = command.decide((stream, initial, evolve) => {
      const { state, version } = fold(log, stream, initial, evolve);
      versions.set(stream, version);
      return state;
    });

    // 3. Decide.
    const { decision } = proposal;
    if (decision.outcome === "refused") return decision;
    if (decision.facts.length === 0) return { outcome: "done", events: [] };

    // 4. Record, provided that everything that was read is still true.
    const result = await log.append({
      occurredAt: command.at,
      writes: writesOf(proposal, decision.facts, versions),
      ...(command.key && { command: command.key }),
      ...(proposal.secrets && { secrets: proposal.secrets }),
    });
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
  log: EventLog,
  stream: string,
  initial: State,
  evolve: (state: State, fact: Fact) => State,
): { state: State; version: number } {
  let state = initial;
  let version = 0;
  for (;;) {
    const events = log.readStream(stream, version, pageEvents);
    const last = events.at(-1);
    if (last === undefined) return { state, version };
    for (const { type, payload } of events) state = evolve(state, { case: type, value: payload } as Fact);
    version = last.version;
  }
}

function writesOf(
  { stream, threadId, provenance }: Proposal,
  facts: StreamWrite["facts"],
  versions: ReadonlyMap<string, number>,
): StreamWrite[] {
  const guards = [...versions].filter(([read]) => read !== stream);
  return [
    { stream, expected: versions.get(stream) ?? "any", threadId, provenance, facts },
    ...guards.map(([read, expected]) => ({ stream: read, expected, threadId: null, provenance, facts: [] })),
  ];
}
