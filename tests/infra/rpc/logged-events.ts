import { EventsService } from "../../../proto/gen/pincer/protocol/v1/events_pb.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import type { TestServer } from "../../support/server.js";

type Payload = ThreadEvent["payload"];
type Kind = NonNullable<Payload["case"]>;
type ValueOf<Case extends Kind> = Extract<Payload, { case: Case }> extends { value: infer Value } ? Value : never;

/** Everything in the log, as an auditor sees it who asks now. */
export async function loggedEvents(server: TestServer): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  await watchUntil(server, (event) => {
    if (event.payload.case !== "heartbeat") events.push(event);
    return event.payload.case === "heartbeat" && event.payload.value.upToDate;
  });
  return events;
}

/** What the log says of one kind. */
export async function logged<Case extends Kind>(server: TestServer, kind: Case): Promise<ValueOf<Case>[]> {
  const events = await loggedEvents(server);
  return events.flatMap(({ payload }) => (payload.case === kind ? [payload.value as ValueOf<Case>] : []));
}

/** Waits until the log has so many of a kind. */
export async function untilLogged(server: TestServer, kind: Kind, count = 1): Promise<void> {
  let seen = 0;
  await watchUntil(server, ({ payload }) => {
    if (payload.case === kind) seen += 1;
    return seen >= count;
  });
}

async function watchUntil(server: TestServer, isEnough: (event: ThreadEvent) => boolean): Promise<void> {
  const leaving = new AbortController();
  for await (const event of server.operator(EventsService).watchLog({}, { signal: leaving.signal })) {
    if (isEnough(event)) break;
  }
  leaving.abort(); // Who only stops listening is still connected.
}
