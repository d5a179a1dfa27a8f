import type { Hash, Toolbox } from "../../domain/approvals/index.js";
import { ContentTrust, EventSource } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import type { Clock, Ids, Provenance, Timers } from "../ports/index.js";
import type { Deciding } from "./decide-action.js";

/** What actions are carried out with. */
export interface ExecutorPorts extends Deciding {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly toolbox: Toolbox;
  readonly hash: Hash;
  readonly policyVersion: string;
  readonly onTrouble: (error: unknown, doing: string) => void;
  /** Whether something could not be recorded because of the disk, and not because of what it is. */
  readonly isDiskTrouble: (error: unknown) => boolean;
}

export const executor: Provenance = {
  source: EventSource.TOOL_EXECUTOR,
  contentTrust: ContentTrust.TRUSTED_VALIDATED,
  actor: { kind: ActorKind.WORKER, id: "executor" },
};
