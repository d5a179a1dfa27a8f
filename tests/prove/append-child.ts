// Appends in a loop and says so: one line for each acknowledged append, written after the append has answered.
import { once } from "node:events";
import { writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Append, Appended, AppendResult } from "../../commands/ports/index.js";
import { randomFrom } from "../support/random.js";
import type { Acknowledgement } from "./acknowledged.js";
import { say } from "./say.js";
import { contendedAppend, contendedStream, nextAppend } from "./traffic.js";
import { openVariant, type Variant } from "./variants.js";

export interface AppendOrders {
  readonly directory: string;
  readonly variant: Variant;
  /** Makes the names of this child's appends unique in the log. */
  readonly name: string;
  readonly seed: number;
  readonly callers: number;
  readonly appendsPerCaller: number;
  /** Says "ready" and begins when it is told to. */
  readonly waits: boolean;
}

const contendedAttemptsMax = 1_000;
const writeBehindMillisMax = 10;

const orders = JSON.parse(process.argv[2] ?? "") as AppendOrders;
const { variant } = orders;

try {
  const backend = await openVariant(orders.directory, variant);
  // As the server does: it does not go on without its read models.
  backend.projector.stopped.subscribe({ error: variant === "stubborn" ? () => undefined : die });
  say("ready");
  if (orders.waits) await once(process.stdin, "data");
  await Promise.all(Array.from({ length: orders.callers }, (_, caller) => call(backend.log, caller)));
  backend.close();
  process.exit(0);
} catch (error) {
  die(error);
}

async function call(log: Awaited<ReturnType<typeof openVariant>>["log"], caller: number): Promise<void> {
  const random = randomFrom(orders.seed * 31 + caller);
  let seenVersion = log.readStream(contendedStream, 0, 1).length; // Wrong on purpose most of the time: it will be told.
  for (let index = 0; index < orders.appendsPerCaller; index++) {
    const name = `${orders.name}.${caller}.${index}`;
    if (random.chance(10)) {
      seenVersion = await contend(name);
      continue;
    }
    const append = nextAppend(name, random);
    if (variant === "early") {
      acknowledge(name, null);
      await pause(random.below(writeBehindMillisMax));
    }
    const appended = await record(name, append);
    if (append.command !== undefined && appended !== null && random.chance(30)) await repeat(append, appended);
  }

  async function record(name: string, append: Append): Promise<Appended | null> {
    const result = await attempt(name, append);
    if (result?.outcome !== "appended") return null;
    if (variant !== "early") acknowledge(name, result);
    return result;
  }

  /** null when the stubborn variant has acknowledged what failed. */
  async function attempt(name: string, append: Append): Promise<AppendResult | null> {
    try {
      return await log.append(append);
    } catch (error) {
      if (variant !== "stubborn") throw error;
      acknowledge(name, null);
      return null;
    }
  }

  /** Optimistic concurrency: tries until nobody was faster. Answers the version it reached. */
  async function contend(name: string): Promise<number> {
    let version = seenVersion;
    for (let attempts = 0; attempts < contendedAttemptsMax; attempts++) {
      const result = await attempt(name, contendedAppend(name, version));
      if (result === null) return version;
      if (result.outcome === "version_conflict") {
        version = result.actual;
      } else if (result.outcome === "appended") {
        acknowledge(name, result);
        return version + 1;
      }
    }
    throw new Error(`${name} lost ${contendedAttemptsMax} races for the same stream`);
  }

  async function repeat(append: Append, first: Appended): Promise<void> {
    const again = await log.append(append);
    const isSame =
      again.outcome === "appended" &&
      again.repeated &&
      again.events.map(({ eventId }) => eventId).join() === first.events.map(({ eventId }) => eventId).join();
    if (!isSame) throw new Error(`the retry of ${append.command?.id} did not get the first answer`);
  }
}

function acknowledge(append: string, result: Appended | null): void {
  const events = result?.events.map(({ position, eventId }) => ({ position, eventId })) ?? null;
  say(JSON.stringify({ append, events } satisfies Acknowledgement));
}

function die(error: unknown): never {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) messages.push(cause.message);
  writeSync(2, `${messages.join("; ")}\n`);
  process.exit(1);
}
