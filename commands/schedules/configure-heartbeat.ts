import {
  configureHeartbeat as decideToConfigure,
  evolveHeartbeat,
  initialHeartbeat,
  type Heartbeat,
} from "../../domain/schedules/index.js";
import type { Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";

const heartbeatStream = "heartbeat";

export interface ConfigureHeartbeat {
  readonly wanted: Heartbeat;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function configureHeartbeat(
  handling: Handling,
  { wanted, at, provenance }: ConfigureHeartbeat,
): Promise<Handled> {
  return handle(handling, {
    at,
    decide: (load) => {
      const heartbeat = load(heartbeatStream, initialHeartbeat, evolveHeartbeat);
      return { stream: heartbeatStream, threadId: null, provenance, decision: decideToConfigure(heartbeat, wanted) };
    },
  });
}
