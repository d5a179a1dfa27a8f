// A server with actions that were decided long ago and some that wait, for approvals.ts: says where it is, and ends with
// its standard input.
import { once } from "node:events";
import { actionStream } from "../../commands/approvals/streams.js";
import type { EventLog, StreamWrite } from "../../commands/ports/index.js";
import { threadStream } from "../../commands/threads/streams.js";
import { toTimestamp, type NewFact } from "../../domain/shared/index.js";
import { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { approved, done, executed, intended, proposed, rejected } from "../support/action-facts.js";
import { appendTo, fromOwner, openTestLog } from "../support/backend.js";
import { startServer } from "../support/server.js";
import { threadCreated } from "../support/facts.js";

const actionsPerAppend = 150;
const day = 86_400_000;
const threadId = "thread";

const { directory, past, pending } = JSON.parse(process.argv[2]!) as {
  directory: string;
  past: number;
  pending: number;
};
const actionIds = Array.from({ length: pending }, (_, index) => `waiting-${index}`);
const log = openTestLog(directory);
await log.append(appendTo(threadStream(threadId), threadId, threadCreated));
await record(log, past, (index) => ownHistory(`past-${index}`, index % 2 === 0));
log.close();

const server = await startServer(directory);
// What waits was proposed under the policy that is in force, or nobody could approve it.
const { policyVersion } = await server.operator(SystemService).getPolicySummary({});
await record(server.running.log, pending, (index) => [waiting(actionIds[index]!)]);
const { token } = await server.pair();
process.stdout.write(`${JSON.stringify({ url: server.running.url, token, actionIds })}\n`);
process.stdin.resume();
await once(process.stdin, "end");
await server.stop();

async function record(
  to: Pick<EventLog, "append">,
  count: number,
  factsOf: (index: number) => readonly NewFact[],
): Promise<void> {
  for (let from = 0; from < count; from += actionsPerAppend) {
    const size = Math.min(actionsPerAppend, count - from);
    const writes = Array.from({ length: size }, (_, at) => writeOf(factsOf(from + at)));
    await to.append({ occurredAt: Date.now(), writes });
  }
}

function writeOf(facts: readonly NewFact[]): StreamWrite {
  const [first] = facts;
  const actionId = first?.case === "proposedActionCreated" ? (first.value.actionId ?? "") : "";
  return { stream: actionStream(actionId), expected: "no_stream", threadId, facts, provenance: fromOwner };
}

function ownHistory(actionId: string, isDone: boolean): readonly NewFact[] {
  const created = proposed(actionId, { expiresAt: toTimestamp(Date.now() - day) });
  return isDone ? [created, approved, intended(1, `key ${actionId}`), done, executed] : [created, rejected("No.")];
}

/** It can be taken back for a day, so that nobody carries it out meanwhile. */
function waiting(actionId: string): NewFact {
  const until = { expiresAt: toTimestamp(Date.now() + day), undoSeconds: day / 1_000 };
  return proposed(actionId, { ...until, policyVersion });
}
