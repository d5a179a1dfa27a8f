import { setTimeout as pause } from "node:timers/promises";
import { firstValueFrom } from "rxjs";
import { TokenBudget, type Reservation } from "../../commands/budgets/token-budget.js";
import type { Clock, TokenUsage } from "../../commands/ports/index.js";
import { createThread } from "../../commands/threads/create-thread.js";
import { startTurn } from "../../commands/threads/start-turn.js";
import { windowAt } from "../../domain/budgets/index.js";
import { toInstant, type Instant, type RecordedEvent } from "../../domain/shared/index.js";
import { conversationsIn } from "../../infra/lookups/conversations.js";
import { tokenUsageIn } from "../../infra/lookups/token-usage.js";
import { equipmentOf } from "../../infra/server/equipment.js";
import { systemRandom } from "../../infra/ports/system-random.js";
import { systemTimers } from "../../infra/ports/system-timers.js";
import { TurnWorker } from "../../infra/workers/turns.js";
import { TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ReasoningVisibility } from "../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { QueueMode } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { listUnfinishedTurns } from "../../read-models/threads/index.js";
import { noon } from "../support/appends.js";
import { fromOwner, openBackend, quiet, type Backend } from "../support/backend.js";
import { randomFrom, type Random } from "../support/random.js";
import { testConfig } from "../support/server.js";
import { SpendingModel } from "./budget-held-model.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";
import { eventsIn } from "./turn-kill-trace.js";

const threadsMin = 8;
const threadsMax = 20;
/** Enough for a summary here and there: that is paid from the same purse. */
const turnsPerThreadMax = 8;
/** About what one question reserves: the answer at its longest, and the question. */
const reserveTokens = 9_500;
/** Turns that have not ended by then do not end. */
const dayMillisMax = 20_000;
const restartsMax = 3;

type BudgetOf = (tokensPerDay: number, usage: TokenUsage) => TokenBudget;

/** `n` days, each with more turns at once than its budget can pay, and a few restarts in between. */
export const budgetHeld: Proof = {
  name: "budget.held",
  promise: "budgets hold under concurrency",
  sizes: { small: 3, full: 60 },
  // The model takes what was reserved or less, so nothing at all may be overspent.
  run: checkDays((tokensPerDay, usage) => new TokenBudget(tokensPerDay, usage), 0),
  // Even if one call too many is forgiven, those that are under way at the same time are more than one.
  control: checkDays((tokensPerDay, usage) => new SettlesOnly(tokensPerDay, usage), 1),
};

/** Counts what was spent, and nothing before that. */
class SettlesOnly extends TokenBudget {
  override reserve(callId: string, _tokens: number, at: Instant): Reservation {
    return super.reserve(callId, 0, at);
  }
}

function checkDays(budgetOf: BudgetOf, reservesForgiven: number): Check {
  return async (n, seed, onProgress) => {
    const tally = new Tally(onProgress);
    for (let index = 0; index < n; index++) {
      const random = randomFrom(seed * 1_000 + index);
      const problem = await withDirectory((path) => spendDay(path, budgetOf, reservesForgiven, random, tally));
      tally.case(problem === null ? null : `day ${index}: ${problem}`);
    }
    return tally.finding();
  };
}

async function spendDay(
  path: string,
  budgetOf: BudgetOf,
  reservesForgiven: number,
  random: Random,
  tally: Tally,
): Promise<string | null> {
  const began = performance.now();
  const clock: Clock = { now: () => noon + Math.floor(performance.now() - began) };
  const threads = threadsMin + random.below(threadsMax - threadsMin);
  const tokensPerDay = (2 + random.below(2 * threads)) * reserveTokens;
  const model = new SpendingModel(random);
  const open = async () => {
    const backend = await openBackend(path);
    return { backend, worker: workerOn(backend, clock, budgetOf, tokensPerDay, model) };
  };

  let turns = 0;
  for (let restarts = 1 + random.below(restartsMax); restarts > 0; restarts--) {
    const { backend, worker } = await open();
    await worker.start();
    if (turns === 0) turns = await beginAll(backend, clock, threads, random);
    // In the middle of what is asked now, if there is enough of it.
    await Promise.race([model.askedMore(1 + random.below(2 * threads)), untilAllEnded(backend)]);
    await worker.stop();
    backend.close();
  }

  const { backend, worker } = await open();
  try {
    await worker.start();
    const hasEnded = await untilAllEnded(backend);
    await worker.stop();
    const day = accountOf(eventsIn(backend.log));
    const spent = Math.max(day.spent, model.spent);
    const overspent = Math.max(0, spent - tokensPerDay);
    tally.add("turns", turns);
    tally.add("completed", day.completed);
    tally.add("refused", day.refused);
    tally.add("summaries", day.summaries);
    tally.max("overspent tokens", overspent);
    tally.max("overspent reserves", Math.round((overspent / day.reserveMax) * 10) / 10);
    if (!hasEnded) return "not all turns ended";
    if (day.strange !== null) return day.strange;
    if (day.completed + day.refused !== turns) return `${day.completed} + ${day.refused} turns ended, of ${turns}`;
    if (day.spent === 0) return "nobody got anything of the budget";
    if (overspent <= reservesForgiven * day.reserveMax) return null;
    return `${spent} tokens of ${tokensPerDay} were spent; one call reserves up to ${day.reserveMax}`;
  } finally {
    backend.close();
  }
}

function workerOn(
  backend: Backend,
  clock: Clock,
  budgetOf: BudgetOf,
  tokensPerDay: number,
  model: SpendingModel,
): TurnWorker {
  const { log, readModels, store, ids } = backend;
  const ports = {
    log,
    readModels,
    ids,
    clock,
    timers: systemTimers,
    random: systemRandom,
    conversations: conversationsIn(log, readModels, store.query),
    budget: budgetOf(tokensPerDay, tokenUsageIn(log, readModels, store.query)),
    models: { primary: { model, name: "spender" }, fallback: null },
    ...equipmentOf({ ...backend, query: store.query }, testConfig("unused"), []),
    onTrouble: (error: unknown) => {
      throw error;
    },
  };
  const observer = { turnEnded: () => undefined, modelCalled: () => undefined };
  return new TurnWorker(ports, log, store.query, observer, quiet);
}

/** Begins turns on all threads at once, several on some: how many in all. */
async function beginAll(backend: Backend, clock: Clock, threads: number, random: Random): Promise<number> {
  const counts = Array.from({ length: threads }, () => 1 + random.below(turnsPerThreadMax));
  const begin = async (turns: number, thread: number) => {
    const at = clock.now();
    const threadId = `thread-${thread}`;
    await createThread(backend, { threadId, channel: "ios", at, provenance: fromOwner });
    for (let turn = 0; turn < turns; turn++) {
      const asked = {
        threadId,
        clientMessageId: `${turn}`,
        text: `${threadId}, question ${turn}`,
        queueMode: QueueMode.QUEUE_AFTER_TURN,
        reasoningVisibility: ReasoningVisibility.REASONING_OFF,
        triggerType: TriggerType.CHAT_MESSAGE,
        triggerSourceId: "",
        requestedBudget: null,
        allowsRawReasoning: false,
      };
      const { outcome } = await startTurn(backend, { ...asked, at, provenance: fromOwner });
      if (outcome !== "done") throw new Error("a turn could not be begun");
    }
  };
  await Promise.all(counts.map(begin));
  return counts.reduce((sum, turns) => sum + turns, 0);
}

/** False if it takes too long. */
async function untilAllEnded({ log, projector, store }: Backend): Promise<boolean> {
  const late = new AbortController();
  const tooLong = pause(dayMillisMax, false, { signal: late.signal });
  tooLong.catch(() => undefined); // Nobody waits for it any more.
  const allEnded = async () => {
    for (;;) {
      const grown = firstValueFrom(log.grown, { defaultValue: 0 });
      await projector.reached(log.head().position);
      if ((await listUnfinishedTurns(store.query)).length === 0) return true;
      await grown;
    }
  };
  try {
    return await Promise.race([allEnded(), tooLong]);
  } finally {
    late.abort();
  }
}

interface Account {
  /** By all calls, as the log has it; of one without an outcome, what is reserved for it. */
  readonly spent: number;
  readonly reserveMax: number;
  readonly completed: number;
  readonly refused: number;
  readonly summaries: number;
  /** An end that no turn should have had, or null. */
  readonly strange: string | null;
}

function accountOf(events: readonly RecordedEvent[]): Account {
  const costs = new Map<string, number>();
  let [reserveMax, completed, refused, summaries] = [0, 0, 0, 0];
  let strange: string | null = null;
  for (const { envelope } of events) {
    const { payload } = envelope!;
    switch (payload.case) {
      case "modelCallStarted":
        costs.set(payload.value.callId, Number(payload.value.reservedTokens));
        reserveMax = Math.max(reserveMax, Number(payload.value.reservedTokens));
        break;
      case "modelCallFinished":
        costs.set(payload.value.callId, Number(payload.value.inputTokens + payload.value.outputTokens));
        break;
      case "modelCallFailed":
        costs.set(payload.value.callId, Number(payload.value.chargedTokens));
        break;
      case "summaryWritten":
        summaries += 1;
        break;
      case "turnCompleted":
        completed += 1;
        break;
      case "turnFailed": {
        const { code, retryAt } = payload.value;
        const isRenewed = retryAt !== undefined && toInstant(retryAt) === windowAt(noon).until;
        if (code === "DAILY_TOKEN_BUDGET_EXCEEDED" && isRenewed) refused += 1;
        else strange ??= `a turn failed with ${code}, to be tried again ${isRenewed ? "tomorrow" : "who knows when"}`;
        break;
      }
      default:
        break;
    }
  }
  const spent = [...costs.values()].reduce((sum, tokens) => sum + tokens, 0);
  return { spent, reserveMax, completed, refused, summaries, strange };
}
