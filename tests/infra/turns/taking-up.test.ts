import { afterEach, describe, expect, test } from "@jest/globals";
import { filter, firstValueFrom, map, startWith } from "rxjs";
import { TokenBudget } from "../../../commands/budgets/token-budget.js";
import type { EventLog, Timers } from "../../../commands/ports/index.js";
import { abandonTurn } from "../../../commands/threads/abandon-turn.js";
import { startTurn } from "../../../commands/threads/start-turn.js";
import { turnsStream, turnStream } from "../../../commands/threads/streams.js";
import type { TurnPorts } from "../../../commands/threads/turn-ports.js";
import {
  hour,
  second,
  toTimestamp,
  type EventType,
  type NewFact,
  type PayloadOf,
} from "../../../domain/shared/index.js";
import { LogError } from "../../../infra/event-log/index.js";
import { conversationsIn } from "../../../infra/lookups/conversations.js";
import { tokenUsageIn } from "../../../infra/lookups/token-usage.js";
import { offlineModel, offlineModelName } from "../../../infra/model/offline.js";
import { systemRandom } from "../../../infra/ports/system-random.js";
import { equipmentOf } from "../../../infra/server/equipment.js";
import { TurnWorker } from "../../../infra/workers/turns.js";
import { TriggerType } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ReasoningVisibility } from "../../../proto/gen/pincer/protocol/v1/turn_events_pb.js";
import { QueueMode } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { appendOf, noon, record } from "../../support/appends.js";
import { fromOwner, quiet, type Backend } from "../../support/backend.js";
import { contended } from "../../support/contended.js";
import { open, remove } from "../../support/conversation.js";
import { testConfig } from "../../support/server.js";
import { titled } from "../../support/facts.js";
import { callFailed, callStarted, turnPaused, turnStarted } from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const longestPause = 30 * second;
const eventsMax = 1_000;
let workers: TurnWorker[] = [];
let pauses: number[] = [];

afterEach(async () => {
  for (const worker of workers) await worker.stop();
  [workers, pauses] = [[], []];
});

/** Whoever pauses need not wait for it; what may take longer than any pause is never over. */
const impatient: Timers = {
  after: (millis, act) => {
    if (millis > longestPause) return () => undefined;
    if (millis >= 100) pauses.push(millis);
    const soon = setImmediate(act);
    return () => {
      clearImmediate(soon);
    };
  },
};

function portsOn(backend: Backend, log: EventLog = backend.log): TurnPorts {
  const { readModels, ids } = backend;
  const { query } = backend.store;
  return {
    ...equipmentOf({ log: backend.log, readModels, query }, testConfig(bench.path), []),
    ...{ log, readModels, ids, timers: impatient, random: systemRandom, clock: { now: () => noon } },
    conversations: conversationsIn(backend.log, readModels, query),
    budget: new TokenBudget(1_000_000, tokenUsageIn(backend.log, readModels, query)),
    models: { primary: { model: offlineModel, name: offlineModelName }, fallback: null },
    onTrouble: () => undefined,
  };
}

/** Takes up the turns there are, and records what becomes of them in this log. */
async function takeUp(backend: Backend, log?: EventLog): Promise<void> {
  const observer = { turnEnded: () => undefined, modelCalled: () => undefined };
  const worker = new TurnWorker(portsOn(backend, log), backend.log, backend.store.query, observer, quiet);
  workers.push(worker);
  await worker.start();
}

async function threadWith(...texts: readonly string[]): Promise<Backend> {
  const backend = await bench.backend();
  await open(backend, "t");
  for (const text of texts) {
    const handled = await startTurn(backend, {
      ...{ threadId: "t", clientMessageId: text, text, at: noon, provenance: fromOwner, requestedBudget: null },
      ...{ queueMode: QueueMode.QUEUE_AFTER_TURN, reasoningVisibility: ReasoningVisibility.REASONING_OFF },
      ...{ triggerType: TriggerType.CHAT_MESSAGE, triggerSourceId: "", allowsRawReasoning: false },
    });
    expect(handled.outcome).toBe("done");
  }
  return backend;
}

function valuesOf<T extends EventType>({ log }: Backend, type: T): PayloadOf<T>[] {
  const events = log.readThread("t", 0, eventsMax).filter((event) => event.type === type);
  return events.map((event) => log.decode(event).payload as PayloadOf<T>);
}

/** Resolves when the thread has so many events of a kind. */
async function recorded(backend: Backend, type: EventType, count = 1): Promise<void> {
  const counted = backend.log.grown.pipe(
    startWith(0),
    map(() => valuesOf(backend, type).length),
  );
  await firstValueFrom(counted.pipe(filter((many) => many >= count)));
}

/** The real log, but without room for the first appends. */
function full(log: Backend["log"], times: number): EventLog {
  return contended(log, times, () => Promise.reject(new LogError("full", log.file, null, "the disk is full")));
}

/** Somebody else is faster so often. */
function busy(backend: Backend, times: number): EventLog {
  const write = { stream: turnsStream("t"), expected: "any", threadId: "t", provenance: fromOwner } as const;
  return contended(backend.log, times, () => record(backend.log, appendOf({ ...write, facts: [titled("Tea")] })));
}

async function tell({ log }: Backend, stream: string, ...facts: readonly NewFact[]): Promise<void> {
  await record(log, appendOf({ stream, expected: "any", threadId: "t", provenance: fromOwner, facts }));
}

const takesMax = 8;
const attemptsMax = 10;

describe("a turn that cannot be carried out", () => {
  test("because there is no room on the disk is ended as soon as there is, and those behind it come", async () => {
    const backend = await threadWith("first", "second");
    await takeUp(backend, full(backend.log, takesMax + 12));
    await recorded(backend, "turnCompleted");
    expect(valuesOf(backend, "turnFailed")).toMatchObject([{ code: "TURN_LOST", retryable: true }]);
    const doubled = Array.from({ length: takesMax }, (_, take) => 200 * 2 ** take);
    expect(pauses).toEqual([...doubled, ...doubled, ...Array<number>(4).fill(longestPause)]);
  });

  test("because others are always faster is ended, however often they are", async () => {
    const backend = await threadWith("first", "second");
    await takeUp(backend, busy(backend, (takesMax + 2) * attemptsMax));
    await recorded(backend, "turnCompleted");
    expect(valuesOf(backend, "turnFailed")).toMatchObject([{ code: "TURN_LOST" }]);
  });

  test("is left as it is when the server is stopped, and goes on when it is back", async () => {
    const backend = await threadWith("first");
    await takeUp(backend, full(backend.log, Infinity));
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(valuesOf(backend, "turnFailed")).toEqual([]);
    await takeUp(backend);
    await recorded(backend, "turnCompleted");
  });

  test("is over with its thread: nothing is added to that", async () => {
    const backend = await threadWith("first");
    const [{ turnId }] = valuesOf(backend, "turnStarted") as [PayloadOf<"turnStarted">];
    await remove(backend, "t");
    const { position } = backend.log.head();
    const abandoned = await abandonTurn(portsOn(backend), { threadId: "t", turnId });
    expect(abandoned).toMatchObject({ outcome: "refused", code: "thread_deleted" });
    expect(backend.log.head().position).toBe(position);
  });
});

test("a turn that breaks off goes on, and says so", async () => {
  const backend = await threadWith("first");
  let appends = 0;
  const log = contended(backend.log, Infinity, async () => {
    appends += 1; // The first is the question, the second what is said, or the end.
    if (appends === 2) throw new LogError("full", backend.log.file, null, "the disk is full");
  });
  await takeUp(backend, log);
  await recorded(backend, "turnCompleted");
  expect(valuesOf(backend, "turnResumed")).toMatchObject([{ resumedReason: "broke_off", stepsUsed: 0 }]);
  const [lost] = valuesOf(backend, "modelCallFailed");
  expect(lost).toMatchObject({ reason: "broke_off", provider: offlineModel.provider, model: offlineModelName });
});

describe("a turn that waits for the owner", () => {
  /** Each waits for nothing any more. */
  async function paused(...turnIds: readonly string[]): Promise<Backend> {
    const backend = await threadWith();
    for (const turnId of turnIds) await tell(backend, turnsStream("t"), turnStarted(turnId), turnPaused(turnId));
    return backend;
  }

  test("goes on, although others are faster at first", async () => {
    const backend = await paused("turn-1");
    await takeUp(backend, busy(backend, 2 * attemptsMax));
    await recorded(backend, "turnCompleted");
    expect(pauses).toEqual([200, 400]);
  });

  test("goes on as soon as there is room on the disk for it, however late that is", async () => {
    const backend = await paused("turn-1");
    await takeUp(backend, full(backend.log, 2 * takesMax));
    await recorded(backend, "turnCompleted");
    expect(valuesOf(backend, "turnFailed")).toEqual([]);
  });

  test("is looked at when it is its turn, however many there are", async () => {
    const turnIds = Array.from({ length: 9 }, (_, index) => `turn-${index}`);
    const backend = await paused(...turnIds);
    const looked: string[] = [];
    const { log } = backend;
    const seen: EventLog = {
      append: (append) => log.append(append),
      recall: (command) => log.recall(command),
      streamVersion: (stream) => log.streamVersion(stream),
      readStream: (stream, afterVersion, limit) => {
        looked.push(stream);
        return log.readStream(stream, afterVersion, limit);
      },
    };
    await takeUp(backend, seen);
    await recorded(backend, "turnCompleted", turnIds.length);
    const looks = turnIds.map((turnId) => looked.filter((stream) => stream === turnStream(turnId)).length);
    expect(looks).toEqual(turnIds.map(() => looks[0]));
  });
});

test("a turn that waits for a model does not wait longer than it may, though the clock was set back", async () => {
  const backend = await threadWith();
  await tell(backend, turnsStream("t"), turnStarted("turn-1"));
  const notBefore = toTimestamp(noon + hour);
  const retried: NewFact = { case: "modelCallRetried", value: { callId: "call-1", reason: "rate_limited", notBefore } };
  await tell(backend, turnStream("turn-1"), callStarted("call-1"), callFailed("call-1"), retried);
  await takeUp(backend);
  await recorded(backend, "turnCompleted");
  expect(pauses).toEqual([longestPause]);
});
