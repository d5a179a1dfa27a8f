import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Kysely, SqliteDialect, type LogEvent } from "kysely";
import { approveAction } from "../../../commands/approvals/decide-action.js";
import type { EventLog } from "../../../commands/ports/index.js";
import { day } from "../../../domain/shared/index.js";
import { Executor } from "../../../infra/workers/executor.js";
import type { ReadModelTables } from "../../../read-models/tables.js";
import { Life } from "../../prove/effect-once-life.js";
import { proposeTo } from "../../prove/effect-once-proposed.js";
import { Provider, providerTool } from "../../prove/effect-once-provider.js";
import { FastTime } from "../../prove/effect-once-time.js";
import { fromOwner, quiet } from "../../support/backend.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
let provider: Provider;
let time: FastTime;
let life: Life;
let onAsked: (moment: string) => void = () => undefined;

beforeEach(async () => {
  provider = new Provider();
  time = new FastTime();
  const pass = async (moment: string) => {
    onAsked(moment);
  };
  life = await Life.begin(bench.path, { time, tools: () => [providerTool(provider, { pass })] });
});
afterEach(async () => {
  onAsked = () => undefined;
  await life.end();
});

async function approve(actionId: string): Promise<void> {
  const command = { actionId, seen: null, at: time.clock.now(), provenance: fromOwner };
  expect((await approveAction(life.ports, command)).outcome).toBe("done");
}

test("whoever approves something is answered before the executor asks what is due", async () => {
  const { actionId } = await proposeTo(life, "a", time);
  const { backend, ports } = life;
  let questions = 0;
  let onLooked: () => void = () => undefined;
  const hasLooked = new Promise<void>((resolve) => (onLooked = resolve));
  const log = ({ query: { sql } }: LogEvent) => {
    questions += 1;
    if (sql.startsWith('select "expires_at"')) onLooked(); // It is the last that is asked in a round.
  };
  const query = new Kysely<ReadModelTables>({ dialect: new SqliteDialect({ database: backend.store.db }), log });
  const executor = new Executor(ports, backend.log, query, quiet);
  try {
    executor.start();
    await hasLooked;
    questions = 0;
    await approve(actionId);
    expect(questions).toBe(0);
    await life.settled([actionId]);
    expect(provider.ledger).toHaveLength(1);
  } finally {
    await executor.stop();
  }
});

test("a clock that is set back makes nobody wait longer than the lease", async () => {
  const { actionId, plan } = await proposeTo(life, "a", time);
  provider.faults.set(plan.idempotencyKey, ["reset_before"]);
  onAsked = (moment) => {
    if (moment !== "after asking") return;
    onAsked = () => undefined;
    time.skip(-day);
  };
  life.start();
  await approve(actionId);
  await life.settled([actionId]);
  expect(life.action(actionId).status).toBe("executed");
  expect(provider.ledger).toHaveLength(1);
});

test("a server that is told to stop just before the effect knows that it has not happened", async () => {
  await life.end();
  let onIntended: () => void = () => undefined;
  const intended = new Promise<void>((resolve) => (onIntended = resolve));
  const stopsAtIntent = (log: EventLog): EventLog => ({
    append: async (append) => {
      const result = await log.append(append);
      const isIntent = append.writes.some(({ facts }) => facts.some((fact) => fact.case === "actionExecutionIntended"));
      if (isIntent) onIntended();
      return result;
    },
    recall: (command) => log.recall(command),
    streamVersion: (stream) => log.streamVersion(stream),
    readStream: (stream, afterVersion, limit) => log.readStream(stream, afterVersion, limit),
  });
  const tools = () => [providerTool(provider)];
  life = await Life.begin(bench.path, { time, tools, logOf: stopsAtIntent });
  const { actionId } = await proposeTo(life, "a", time);
  const stopped = intended.then(() => life.end());
  life.start();
  await approve(actionId);
  await stopped;
  life = await Life.begin(bench.path, { time, tools });
  expect(life.action(actionId)).toMatchObject({ status: "approved", execution: { state: "due", attempts: 1 } });
  expect(provider.ledger).toEqual([]);
  life.start();
  await life.settled([actionId]);
  expect(provider.ledger).toHaveLength(1);
});
