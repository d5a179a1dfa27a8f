import { createClient } from "@connectrpc/connect";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { socketFile } from "../../infra/server/socket-file.js";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import type { ThreadEvent } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { randomFrom, type Random } from "../support/random.js";
import { networkTransport, socketTransport } from "../support/server.js";
import { inspectBackend } from "./acknowledged.js";
import { inLanes } from "./lanes.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { spawnChild, type Spawned } from "./spawned.js";
import { Tally } from "./tally.js";
import type { TurnOrders, TurnServer, TurnVariant } from "./turn-kill-child.js";
import { ScriptedModel } from "./turn-kill-script.js";
import { findDifference, findRepetition, traceOf, type Trace } from "./turn-kill-trace.js";

const killsMax = 3;
/** A kill comes up to so long after the event that it waits for; or so long after the start of a server. */
const afterEventMillisMax = 20;
const afterStartMillisMax = 900;
/** A turn that has not ended by then does not end. It takes half a second. */
const turnMillisMax = 20_000;

/** `n` turns, each killed one to three times. */
export const turnKill: Proof = {
  name: "turn.kill",
  promise: "a turn survives any crash",
  sizes: { small: 2, full: 30 },
  run: checkTurns("sound"),
  // The one that gives up ends the turn as failed; the one that begins anew does all of it again, notes included.
  control: (n, seed, onProgress) => checkTurns("gives up", "anew")(Math.max(2, Math.ceil(n / 10)), seed, onProgress),
};

/** A data directory in which a device is paired and a thread is open, and copies of it: so all ids are the same. */
interface Home {
  readonly directory: string;
  readonly token: string;
  readonly threadId: string;
}

function checkTurns(...variants: readonly TurnVariant[]): Check {
  return (n, seed, onProgress) =>
    withDirectory(async (root) => {
      const tally = new Tally(onProgress);
      const original = await prepare(join(root, "original"));
      const copy = (name: string): Home => {
        const directory = join(root, name);
        cpSync(original.directory, directory, { recursive: true });
        return { ...original, directory };
      };
      const reference = await runUndisturbed(copy("undisturbed"));
      await inLanes(n, () => async (index) => {
        const random = randomFrom(seed * 1_000 + index);
        const variant = variants[index % variants.length]!;
        const problem = await killTurn(copy(`${index}`), variant, reference, random, tally);
        tally.case(problem === null ? null : `turn ${index}: ${problem}`);
      });
      return tally.finding();
    });
}

async function prepare(directory: string): Promise<Home> {
  const model = await ScriptedModel.listen();
  const child = startLife({ directory, baseUrl: model.baseUrl, life: 1, variant: "sound" });
  try {
    const url = await urlOf(child, directory);
    const { code } = await createClient(AuthService, socketTransport(socketFile(directory))).createPairingCode({});
    const { token } = await createClient(AuthService, networkTransport(url)).bindPairingCode({ code });
    const { threadId } = await createClient(ThreadsService, networkTransport(url, token)).createThread({});
    await stop(child);
    return { directory, token, threadId };
  } finally {
    child.kill();
    model.close();
  }
}

async function runUndisturbed(home: Home): Promise<Trace> {
  const model = await ScriptedModel.listen();
  try {
    await liveToTheEnd(home, { directory: home.directory, baseUrl: model.baseUrl, life: 1, variant: "sound" }, true);
    const trace = await traceOf(home.directory, home.threadId);
    const problem = trace.contradiction ?? (trace.isOver ? null : "it did not end");
    if (problem !== null) throw new Error(`without a kill: ${problem}`);
    return trace;
  } finally {
    model.close();
  }
}

/** Kills the server of a turn a few times, lets it finish, and says what is wrong then. */
async function killTurn(
  home: Home,
  variant: TurnVariant,
  reference: Trace,
  random: Random,
  tally: Tally,
): Promise<string | null> {
  const { directory, threadId } = home;
  const model = await ScriptedModel.listen();
  const lives: Trace[] = [await traceOf(directory, threadId)];
  const kills = 1 + random.below(killsMax);
  try {
    for (let life = 1; life <= kills; life++) {
      const orders = { directory, baseUrl: model.baseUrl, life, variant };
      await liveUntilKilled(home, orders, lives.at(-1)!, reference, random);
      const trace = await traceOf(directory, threadId);
      lives.push(trace);
      tally.add("kills", 1);
      tally.add(trace.phase, 1);
    }
    const orders = { directory, baseUrl: model.baseUrl, life: kills + 1, variant };
    // Begun anew, it is another turn, which only the thread shows.
    const ending = await liveToTheEnd(home, orders, variant === "sound" && random.chance(50));
    const trace = await traceOf(directory, threadId);
    tally.add("unfinished", trace.isOver ? 0 : 1);
    tally.add("steps doubled", trace.stepsDoubled);
    const { problem } = await inspectBackend(directory, []);
    return problem ?? ending ?? findRepetition(model, lives) ?? findDifference(trace, reference);
  } finally {
    model.close();
  }
}

/** In its first life the turn is begun, and the kill comes after that was acknowledged. */
async function liveUntilKilled(
  home: Home,
  orders: TurnOrders,
  before: Trace,
  reference: Trace,
  random: Random,
): Promise<void> {
  const eventsLeft = Math.max(1, reference.sequence - before.sequence);
  const killAt = BigInt(before.sequence + 1 + random.below(eventsLeft));
  const [startMillis, eventMillis] = [random.below(afterStartMillisMax), random.below(afterEventMillisMax)];
  const isEarly = orders.life > 1 && random.chance(20);
  const isSentAgain = orders.life === 1 || random.chance(50);
  const child = startLife(orders);
  try {
    if (isEarly)
      await pause(startMillis); // Perhaps before it is ready.
    else {
      const url = await urlOf(child, home.directory);
      await follow(url, home, isSentAgain, ({ sequence }) => sequence >= killAt);
      await pause(eventMillis);
    }
  } finally {
    child.kill();
    await child.ended;
  }
}

/** Says how it did not end as it should, or null. */
async function liveToTheEnd(home: Home, orders: TurnOrders, isSentAgain: boolean): Promise<string | null> {
  const child = startLife(orders);
  try {
    const url = await urlOf(child, home.directory);
    const hasEnded = await follow(url, home, isSentAgain, () => false);
    const code = await stop(child);
    if (!hasEnded) return "the turn did not end";
    return code === 0 ? null : `the server ended with ${code ?? "a signal"}`;
  } finally {
    child.kill();
    await child.ended;
  }
}

/**
 * Watches the turn, as an app does: by sending its message again, which is the same turn, or by looking at the thread.
 * Until it has seen enough, or the end: true if that was the end.
 */
async function follow(
  url: string,
  { token, threadId }: Home,
  isSentAgain: boolean,
  isEnough: (event: ThreadEvent) => boolean,
): Promise<boolean> {
  const transport = networkTransport(url, token);
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(turnMillisMax)]);
  const message = { threadId, clientMessageId: "message-1", userText: "How do I get to the sea tomorrow?" };
  const stream = isSentAgain
    ? createClient(TurnsService, transport).startTurn(message, { signal })
    : createClient(EventsService, transport).watchThread({ threadId }, { signal });
  let [hasEnded, isLive] = [false, false];
  try {
    for await (const event of stream) {
      const { payload } = event;
      if (payload.case === "heartbeat") isLive ||= payload.value.upToDate;
      else if (isEnough(event)) return false;
      if (payload.case === "turnStarted") hasEnded = false;
      if (payload.case === "turnCompleted" || payload.case === "turnFailed") hasEnded = true;
      if (hasEnded && isLive) return true;
    }
    return hasEnded;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  } finally {
    leaving.abort();
  }
}

function startLife(orders: TurnOrders): Spawned {
  return spawnChild("turn-kill-child", orders);
}

async function urlOf(child: Spawned, directory: string): Promise<string> {
  await child.said(1);
  return (JSON.parse(readFileSync(join(directory, "server.json"), "utf8")) as TurnServer).url;
}

async function stop(child: Spawned): Promise<number | null> {
  child.go();
  return (await child.ended).code;
}
