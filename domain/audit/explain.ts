import {
  ActionStatus,
  ExecutionOutcome,
  PolicyDecision,
  TriggerType,
} from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { PayloadOf, RecordedEvent } from "../shared/index.js";

/** One link of the chain that leads to an effect, in words. */
export interface ExplainedStep {
  readonly event: RecordedEvent;
  readonly text: string;
}

/** How far a chain is followed back. */
const linksMax = 1_000;

/**
 * Why an action happened, or did not: from its proposal back to what set it off, by what each event says has caused it, and
 * then everything that became of it; of its other revisions, that they were proposed and decided. In the order of the log. No
 * model has a say in it.
 */
export function explain(actionId: string, events: readonly RecordedEvent[]): readonly ExplainedStep[] {
  const makers = new Map<string, RecordedEvent>();
  for (const event of events) {
    const made = madeBy(event);
    if (made !== null && !makers.has(made)) makers.set(made, event);
  }
  const chain = new Set<RecordedEvent>();
  let link = makers.get(actionId);
  while (link !== undefined && !chain.has(link) && chain.size < linksMax) {
    chain.add(link);
    link = makers.get(link.envelope?.causationId ?? "");
  }
  const revisions = revisionsOf(actionId, events);
  const about = events.filter(
    (event) => isAbout(event, actionId, makers.get(actionId)) || isDecisionOn(event, revisions),
  );
  return [...new Set([...chain, ...about])]
    .sort((a, b) => a.position - b.position)
    .map((event) => ({ event, text: inWords(event) }));
}

/** The streams of all that was proposed in its place, before and after. */
function revisionsOf(actionId: string, events: readonly RecordedEvent[]): ReadonlySet<string> {
  const before = new Map<string, string>();
  const after = new Map<string, string>();
  for (const { envelope } of events) {
    const payload = envelope?.payload;
    if (payload?.case !== "proposedActionCreated" || payload.value.supersedesActionId === "") continue;
    before.set(payload.value.actionId, payload.value.supersedesActionId);
    after.set(payload.value.supersedesActionId, payload.value.actionId);
  }
  const revisions = new Set<string>();
  for (const next of [before, after]) {
    let revision = next.get(actionId);
    while (revision !== undefined && !revisions.has(`action-${revision}`)) {
      revisions.add(`action-${revision}`);
      revision = next.get(revision);
    }
  }
  return revisions;
}

function isDecisionOn({ stream, type }: RecordedEvent, revisions: ReadonlySet<string>): boolean {
  return revisions.has(stream) && (type === "proposedActionCreated" || type === "proposedActionStatusChanged");
}

/** The id that others name as their cause. */
function madeBy({ envelope }: RecordedEvent): string | null {
  const payload = envelope?.payload;
  switch (payload?.case) {
    case "messageCommitted":
      return payload.value.messageId;
    case "turnStarted":
      return payload.value.turnId;
    case "modelCallStarted":
      return payload.value.callId;
    case "toolExecutionStarted":
      return payload.value.executionId;
    case "proposedActionCreated":
      return payload.value.actionId;
    default:
      return null;
  }
}

function isAbout({ envelope, stream }: RecordedEvent, actionId: string, proposal: RecordedEvent | undefined): boolean {
  if (stream === `action-${actionId}`) return true;
  const payload = envelope?.payload;
  const proposed = proposal?.envelope?.payload;
  const toolCallId = proposed?.case === "proposedActionCreated" ? proposed.value.toolCallId : "";
  switch (payload?.case) {
    case "toolCallPlanned":
    case "policyDecisionMade":
    case "toolExecutionFinished":
      return toolCallId !== "" && payload.value.toolCallId === toolCallId;
    default:
      return false;
  }
}

function inWords({ type, envelope }: RecordedEvent): string {
  const payload = envelope?.payload;
  switch (payload?.case) {
    case "messageCommitted":
      return `The owner said: ${quoted(payload.value.text)}`;
    case "turnStarted":
      return `A turn began, set off by ${TriggerType[payload.value.triggerType].toLowerCase()}.`;
    case "modelCallStarted":
      return `The model ${payload.value.model} of ${payload.value.provider} was asked, for step ${payload.value.step}.`;
    case "toolCallPlanned":
      return `The model wanted ${shortened(payload.value.toolName)}. Its reason: ${quoted(payload.value.justification)}`;
    case "toolExecutionStarted":
      return `${payload.value.toolName} was used.`;
    case "policyDecisionMade":
      return `Policy, rule ${payload.value.policyId}: ${PolicyDecision[payload.value.decision]} (${payload.value.reason}).`;
    case "proposedActionCreated":
      return `Proposed, revision ${payload.value.revision}: ${shortened(payload.value.deterministicSummary)}`;
    case "proposedActionStatusChanged":
      return changed(payload.value, whoDid(envelope));
    case "actionExecutionIntended":
      return `Attempt ${payload.value.attempt} was begun.`;
    case "actionExecutionFinished":
      return `Attempt ${payload.value.attempt}, by ${payload.value.settledBy}: ${ExecutionOutcome[payload.value.outcome]}${because(payload.value.reason)}.`;
    case "idempotencyConflict":
      return `The idempotency key was used before: ${payload.value.reason}. Nothing was done.`;
    case "toolExecutionFinished":
      return "The model was told.";
    default:
      return `${type}: what it said is erased.`;
  }
}

function changed(
  { status, reason, supersededByActionId: successor }: PayloadOf<"proposedActionStatusChanged">,
  by: string,
): string {
  const instead = successor === "" ? "" : ` ${successor} took its place.`;
  return `${ActionStatus[status]} by ${by}${because(reason)}.${instead}`;
}

function because(reason: string): string {
  return reason === "" ? "" : ` (${shortened(reason)})`;
}

function whoDid(envelope: RecordedEvent["envelope"]): string {
  return envelope?.actor?.id ?? "somebody";
}

/** Of what a person, a model or a provider said: any of them may have gone on for long. */
const wordsLengthMax = 200;

function quoted(text: string): string {
  return JSON.stringify(shortened(text));
}

function shortened(text: string): string {
  return text.length <= wordsLengthMax ? text : `${text.slice(0, wordsLengthMax).toWellFormed()}…`;
}
