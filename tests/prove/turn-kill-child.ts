// A server that runs turns, with a tool that reads: says when it is ready, and stops when it is told to go.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { turnsStream } from "../../commands/threads/streams.js";
import { tool, type Tool } from "../../domain/approvals/index.js";
import type { NewFact } from "../../domain/shared/index.js";
import { turnFailed } from "../../domain/threads/index.js";
import { RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { fromOwner, openTestLog } from "../support/backend.js";
import { startServer } from "../support/server.js";
import { say } from "./say.js";
import { modelNameIn } from "./turn-kill-script.js";
import { eventsIn, isEnd } from "./turn-kill-trace.js";

/**
 * What becomes of a turn when the server is back. "sound" is the product. One that "gives up" calls the turn failed, as
 * a server does that had it in memory only; one that begins "anew" runs it from its first step, as a queue of jobs does
 * that knows no steps.
 */
export type TurnVariant = "sound" | "gives up" | "anew";

export interface TurnOrders {
  readonly directory: string;
  readonly baseUrl: string;
  /** Which start of the server on this directory it is, from 1. */
  readonly life: number;
  readonly variant: TurnVariant;
}

/** In a file in its directory. */
export interface TurnServer {
  readonly url: string;
}

const { directory, baseUrl, life, variant } = JSON.parse(process.argv[2] ?? "") as TurnOrders;
if (variant !== "sound") await sweep();
const model = { baseUrl, apiKey: "", primary: modelNameIn(life), fallback: null };
const server = await startServer(directory, { model }, { tools: [lookUp()] });
writeFileSync(join(directory, "server.json"), JSON.stringify({ url: server.running.url } satisfies TurnServer));
say("ready");
process.stdin.once("data", () => {
  void server.stop().then(() => process.exit(0));
});
process.stdin.once("close", () => process.exit(1)); // Nobody is there any more to tell it to stop.

/** Asks the model's process, where it is counted. */
function lookUp(): Tool {
  return tool({
    name: "look_up",
    version: 1,
    description: "Look something up.",
    args: z.strictObject({ topic: z.string() }),
    risk: RiskClass.READ,
    identity: "none",
    kind: "reading",
    destination: "external",
    isResultUntrusted: true,
    execute: async ({ topic }, { executionId, signal }) => {
      const body = JSON.stringify({ life, executionId, topic });
      const response = await fetch(`${baseUrl}/look-up`, { method: "POST", body, signal });
      return { text: await response.text(), isFailure: false, origin: "look-up" };
    },
  });
}

/** Does what a broken variant does about a turn that was left. */
async function sweep(): Promise<void> {
  const log = openTestLog(directory);
  try {
    const events = eventsIn(log);
    const started = events.findLast(({ type }) => type === "turnStarted");
    const begun = started?.envelope?.payload;
    const threadId = started?.threadId ?? null;
    if (started === undefined || begun?.case !== "turnStarted" || threadId === null) return;
    if (events.some((event) => isEnd(event) && event.position > started.position)) return;
    const write = (turnId: string, ...facts: NewFact[]) => ({
      stream: turnsStream(threadId),
      expected: "any" as const,
      threadId,
      facts,
      provenance: { ...fromOwner, turnId },
    });
    const failed = write(begun.value.turnId, turnFailed("TURN_LOST", true));
    const turnId = `${begun.value.turnId}-${life}`;
    const anew = write(turnId, { case: "turnStarted", value: { ...begun.value, turnId } });
    await log.append({ occurredAt: Date.now(), writes: variant === "anew" ? [failed, anew] : [failed] });
  } finally {
    log.close();
  }
}
