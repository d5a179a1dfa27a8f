import type { Provenance } from "../../commands/ports/index.js";
import { ContentTrust, EventSource } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";

export function byWorker(id: string): Provenance {
  return {
    source: EventSource.SYSTEM,
    contentTrust: ContentTrust.TRUSTED_SYSTEM,
    actor: { kind: ActorKind.WORKER, id },
  };
}
