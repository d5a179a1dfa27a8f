import {
  abandon,
  approve,
  cancel,
  conflict,
  evolveAction,
  expire,
  giveUp,
  initialAction,
  intend,
  reject,
  resolve,
  settle,
  supersede,
  type Action,
  type Effect,
} from "../../domain/approvals/index.js";
import type { Decision, NewFact } from "../../domain/shared/index.js";
import * as facts from "./action-facts.js";
import { noon } from "./appends.js";
import { asRead } from "./facts.js";

export const actionFactKinds = [
  "proposed",
  "approved",
  "rejected",
  "expired",
  "taken back",
  "superseded",
  "abandoned",
  "found in conflict",
  "begun",
  "done",
  "not done",
  "failed for good",
  "unclear",
  "given up",
  "owner says done",
  "conflicted",
  "judged",
  "read",
  "notified",
  "notice read",
] as const;
export type ActionFactKind = (typeof actionFactKinds)[number];

/** The actions of one thread, by id. */
export type Actions = ReadonlyMap<string, Action>;

export const noActions: Actions = new Map();

/** When anything that may be done is due, and when nothing can be approved any more. */
const later = noon + 1_800_000;
const tooLate = noon + 7_200_000;

interface Happened {
  readonly actions: Actions;
  /** null for the thread's own. */
  readonly stream: string | null;
  readonly facts: readonly NewFact[];
}

/** What is recorded of a thread's actions when this happens: what the domain decides about the first that it can concern. */
export function actionFacts(actions: Actions, kind: ActionFactKind, name: string): Happened {
  const recorded = (stream: string | null, ...happened: readonly NewFact[]): Happened => ({
    actions,
    stream,
    facts: happened,
  });
  switch (kind) {
    case "proposed":
      // Few keys, so that some are used again.
      return to(actions, name, [facts.proposed(name, { idempotencyKey: `key ${shortened(name)}` })]);
    case "judged":
      return recorded(null, facts.policyDecided(name));
    case "read":
      return recorded(null, facts.toolStarted(name), facts.toolFinished(name));
    case "notified":
      return recorded(`notification-${shortened(name)}`, facts.notified(shortened(name)));
    case "notice read":
      return recorded(`notification-${shortened(name)}`, facts.notificationRead);
    case "conflicted": {
      const [actionId] = actions.keys();
      return actionId === undefined ? recorded(null) : recorded(`action-${actionId}`, facts.conflicted);
    }
    default:
      for (const [actionId, action] of actions) {
        const decision = decide(kind, action, name);
        if (decision.outcome === "refused" || decision.facts.length === 0) continue;
        return to(actions, actionId, decision.facts);
      }
      return recorded(null);
  }
}

function to(actions: Actions, actionId: string, happened: readonly NewFact[]): Happened {
  const action = happened.map(asRead).reduce(evolveAction, actions.get(actionId) ?? initialAction);
  return { actions: new Map(actions).set(actionId, action), stream: `action-${actionId}`, facts: happened };
}

type Decided = Exclude<ActionFactKind, "proposed" | "judged" | "read" | "notified" | "notice read" | "conflicted">;

function decide(kind: Decided, action: Action, name: string): Decision {
  const settled = (effect: Effect) => settle(action, effect, "execution", later);
  switch (kind) {
    case "approved":
      return approve(action, facts.having(null), noon);
    case "rejected":
      return reject(action, name);
    case "expired":
      return expire(action, tooLate);
    case "taken back":
      return cancel(action);
    case "superseded":
      return supersede(action, name, later);
    case "abandoned":
      return abandon(action);
    case "found in conflict":
      return conflict(action, initialAction, facts.having(null), noon);
    case "begun":
      return intend(action, later);
    case "done": {
      const result = { text: name, isTruncated: false, isUntrusted: true, origin: "ann", hash: facts.bytes(name) };
      return settled({ outcome: "done", result });
    }
    case "not done":
      return settled({ outcome: "not_done", reason: name, isPassing: true });
    case "failed for good":
      return settled({ outcome: "not_done", reason: name, isPassing: false });
    case "unclear":
      return settled({ outcome: "unknown", reason: name });
    case "given up":
      return giveUp(action, name);
    case "owner says done":
      return resolve(action, true, later);
  }
}

function shortened(name: string): string {
  return String(Number(name.at(-1)) % 3);
}
