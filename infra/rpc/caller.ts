import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Provenance } from "../../commands/ports/index.js";
import { refuse } from "../../domain/shared/index.js";
import { ContentTrust, EventSource } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import type { Session } from "../auth/sessions.js";
import { toConnectError } from "./refusal.js";

/** The other end of a connection. */
export interface Peer {
  /** Whoever may open the socket in the data directory is the owner's operator. */
  readonly isOperator: boolean;
  readonly address: string;
  /** Ends the exchange at once, whatever is still to be sent. */
  cutOff(): void;
}

export type Caller = { readonly kind: "operator" } | { readonly kind: "device"; readonly session: Session };

export const peerKey = createContextKey<Peer | null>(null, { description: "peer" });
export const callerKey = createContextKey<Caller | null>(null, { description: "caller" });

/** Who is calling. The interceptor has let nobody through of whom we do not know. */
export function callerOf({ values }: Pick<HandlerContext, "values">): Caller {
  const caller = values.get(callerKey);
  if (caller === null) throw toConnectError(refuse("unauthenticated"));
  return caller;
}

export function provenanceOf(context: Pick<HandlerContext, "values">): Provenance {
  const caller = callerOf(context);
  return caller.kind === "operator" ? byOperator : byDevice(caller.session.deviceId);
}

export const byOperator: Provenance = trusted({ kind: ActorKind.OPERATOR, id: "operator" });

export function byDevice(deviceId: string): Provenance {
  return trusted({ kind: ActorKind.DEVICE, id: deviceId });
}

function trusted(actor: Provenance["actor"]): Provenance {
  return { source: EventSource.SYSTEM, contentTrust: ContentTrust.TRUSTED_SYSTEM, actor };
}
