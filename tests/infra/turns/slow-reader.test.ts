import { create } from "@bufbuild/protobuf";
import { createContextValues, createHandlerContext } from "@connectrpc/connect";
import { expect, test } from "@jest/globals";
import { createThread } from "../../../commands/threads/create-thread.js";
import { Sessions } from "../../../infra/auth/sessions.js";
import { Growth } from "../../../infra/event-log/index.js";
import { systemClock } from "../../../infra/ports/system-clock.js";
import { callerKey } from "../../../infra/rpc/caller.js";
import { EventStreams } from "../../../infra/rpc/event-streams.js";
import { OpenStreams } from "../../../infra/rpc/open-streams.js";
import { turnsService } from "../../../infra/rpc/turns.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { StartTurnRequestSchema, TurnsService } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { appendTo, fromOwner, type Backend } from "../../support/backend.js";
import { turnCompleted } from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";
import { kindsOf } from "./stage.js";

const bench = workbench();

/** The stream of a new turn, as the server makes it: the next message is made when somebody takes it. */
function startTurn(backend: Backend, threadId: string): AsyncIterator<ThreadEvent> {
  const { log, projector, store } = backend;
  const sessions = new Sessions(log, projector, store.query, systemClock);
  const streams = new OpenStreams(log, projector, store.query, systemClock, sessions);
  const observer = { resumed: () => undefined, gap: () => undefined };
  const events = new EventStreams(log, bench.closing(new Growth(log)), streams, observer);
  const context = createHandlerContext({
    service: TurnsService,
    method: TurnsService.method.startTurn,
    protocolName: "connect",
    requestMethod: "POST",
    url: "https://localhost/",
    requestHeader: { "content-type": "application/connect+json" }, // So that what is sent can be looked into.
    contextValues: createContextValues().set(callerKey, { kind: "operator" }),
  });
  const request = create(StartTurnRequestSchema, { threadId, userText: "Hello." });
  const service = turnsService(backend, events, store.query, systemClock, false);
  return (service.startTurn(request, context) as AsyncIterable<ThreadEvent>)[Symbol.asyncIterator]();
}

/** What the worker would record. */
async function endTurn({ log, projector }: Backend, { threadId, turnId }: ThreadEvent): Promise<void> {
  const { occurredAt, writes } = appendTo(`turns-${threadId}`, threadId, turnCompleted("answer"));
  const ofTurn = writes.map((write) => ({ ...write, provenance: { ...write.provenance, turnId } }));
  await log.append({ occurredAt, writes: ofTurn });
  await projector.reached(log.head().position);
}

// Whether the turn is over is asked after the heartbeat was taken: what came in between is never sent.
test("a turn that ends while its reader is busy with a heartbeat has an end all the same", async () => {
  const backend = await bench.backend();
  await createThread(backend, { threadId: "t", channel: "ios", at: 0, provenance: fromOwner });
  const stream = startTurn(backend, "t");
  const seen: ThreadEvent[] = [];
  const isUpToDate = ({ payload }: ThreadEvent) => payload.case === "heartbeat" && payload.value.upToDate;
  for (let isEnded = false; ;) {
    const next = await stream.next();
    if (next.done === true) break;
    seen.push(next.value);
    if (isEnded || !isUpToDate(next.value)) continue;
    await endTurn(backend, seen[1]!);
    isEnded = true;
  }
  expect(kindsOf(seen).at(-1)).toBe("turnCompleted");
});
