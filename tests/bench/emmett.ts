import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { messagesStream } from "../../commands/threads/streams.js";
import { fromOwner } from "../support/backend.js";
import { appendOneByOne } from "./append.js";
import { interleave, perSecond, type Measured, type Trial } from "./measure.js";
import { messageFact } from "./messages.js";
import { openOurs } from "./ours.js";
import { projectRoot, tell, type Benchmark, type Setting } from "./setting.js";

const eventsPerBatch = 100;
const retriesMax = 1_000;

/** What we use of `@event-driven-io/emmett-sqlite`. */
interface Emmett {
  getSQLiteEventStore(options: { fileName: string }): {
    appendToStream(stream: string, events: readonly EmmettEvent[], options: Expectation): Promise<unknown>;
  };
  sqliteConnection(options: { fileName: string }): EmmettConnection;
  createEventStoreSchema(connection: EmmettConnection): Promise<void>;
  appendToStream(
    connection: EmmettConnection,
    stream: string,
    streamType: string,
    events: readonly EmmettEvent[],
    options: Expectation,
  ): Promise<{ success: boolean }>;
}

interface EmmettConnection {
  querySingle(sql: string): Promise<Record<string, unknown>>;
  close(): void;
}

interface EmmettEvent {
  readonly type: string;
  readonly data: unknown;
  readonly metadata: unknown;
}

interface Expectation {
  readonly expectedStreamVersion: bigint;
}

export const emmettBenchmarks: readonly Benchmark[] = [
  {
    name: "append.single.vs_emmett",
    bound: { atLeast: 10 },
    run: (setting) => compareWithEmmett(setting, setting.sizes.emmettAppends, 1),
  },
  {
    name: "append.batch100.vs_emmett",
    bound: { atLeast: 1.3 },
    run: (setting) => compareWithEmmett(setting, setting.sizes.batchAppends, eventsPerBatch),
  },
];

/**
 * Emmett as it comes: a store on a file, which it puts into WAL mode, with SQLite's own default of `synchronous`, FULL;
 * its interface has no way to set it. It projects nothing here. The store opens the file for each append and closes it
 * again; how fast its inner function is on a connection that stays open is reported beside it.
 */
async function compareWithEmmett(setting: Setting, appendCount: number, eventsPerAppend: number): Promise<Measured> {
  const emmett = loadEmmett();
  const store = emmett.getSQLiteEventStore({ fileName: join(setting.directory(), "emmett.db") });
  const kept = emmett.sqliteConnection({ fileName: join(setting.directory(), "emmett.db") });
  const ours = await openOurs(setting.directory(), 1);
  const threadId = ours.threadIds[0]!;
  const stream = messagesStream(threadId);
  let retries = 0;
  const trialOf = (append: (events: EmmettEvent[], options: Expectation) => Promise<unknown>): Trial => {
    // Each append knows the exact version, as a command handler's would: that spares Emmett a look-up.
    let version = 0;
    return () => {
      const appends = Array.from({ length: appendCount }, () =>
        Array.from({ length: eventsPerAppend }, () => messageEvent(threadId)),
      );
      return perSecond(appendCount * eventsPerAppend, async () => {
        for (const events of appends) {
          while (!(await succeeds(append(events, { expectedStreamVersion: BigInt(version) })))) {
            if (++retries > retriesMax) throw new Error("Emmett's store stays busy");
          }
          version += eventsPerAppend;
        }
      });
    };
  };
  try {
    await emmett.createEventStoreSchema(kept);
    const synchronous = await kept.querySingle("PRAGMA synchronous");
    const measured = await interleave(
      setting.sizes.rounds,
      "events/s",
      () => appendOneByOne(ours, appendCount, eventsPerAppend),
      trialOf((events, options) => store.appendToStream(stream, events, options)),
      {
        peerOnOpenConnection: trialOf(async (events, options) => {
          const { success } = await emmett.appendToStream(kept, stream, "messages", events, options);
          if (!success) throw new Error("Emmett's append met a conflict");
        }),
      },
    );
    return {
      ...measured,
      extra: { ...measured.extra, peerSynchronous: synchronous["synchronous"], peerRetries: retries },
    };
  } finally {
    ours.close();
    kept.close();
  }
}

/** On a busy machine its COMMIT now and then overtakes the end of a statement before it; it has then rolled back. */
async function succeeds(append: Promise<unknown>): Promise<boolean> {
  try {
    await append;
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "SQLITE_BUSY") return false;
    throw error;
  }
}

/** What our event says, the way Emmett stores it. */
function messageEvent(threadId: string): EmmettEvent {
  const { case: type, value } = messageFact(randomUUID());
  return { type, data: { ...value, threadId }, metadata: { source: "SYSTEM", actor: fromOwner.actor } };
}

function loadEmmett(): Emmett {
  const peers = join(projectRoot, "tests", "bench", "peers");
  if (!existsSync(join(peers, "node_modules", ".package-lock.json"))) {
    tell("installing the peers, which compiles another SQLite and takes a minute");
    // Its packages disagree about the versions of theirs.
    const { status } = spawnSync("npm", ["ci", "--legacy-peer-deps", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: peers,
      stdio: ["ignore", 2, 2],
    });
    if (status !== 0) throw new Error(`${peers}: the peers could not be installed`);
  }
  console.log = () => undefined; // It prints what it also throws, and standard output is for the figures.
  return createRequire(join(peers, "package.json"))("@event-driven-io/emmett-sqlite") as Emmett;
}
