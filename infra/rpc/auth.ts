import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { rotateToken } from "../../commands/devices/rotate-token.js";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Ids } from "../../commands/ports/index.js";
import { refuse, type PayloadOf, type EventType, type RecordedEvent } from "../../domain/shared/index.js";
import type { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { issueToken } from "../auth/bearer.js";
import type { Pairing } from "../auth/pairing.js";
import { byDevice, callerOf, peerKey, provenanceOf } from "./caller.js";
import { expectDone, toConnectError } from "./refusal.js";

/** How a new device finds this server, and knows that it is the right one. */
export interface Whereabouts {
  readonly serverUrl: string;
  readonly certificateFingerprint: string;
}

const namelessDevice = "unnamed device";

export function authService(
  handling: Handling,
  pairing: Pairing,
  ids: Ids,
  clock: Clock,
  whereabouts: Whereabouts,
): ServiceImpl<typeof AuthService> {
  return {
    async createPairingCode(_request, context) {
      const { code, handled } = await pairing.createCode(deviceOf(context), provenanceOf(context));
      const { events } = expectDone(handled);
      return { code, ...whereabouts, ...recorded(events, "pairingCodeCreated", ({ expiresAt }) => ({ expiresAt })) };
    },

    async bindPairingCode({ code, deviceName, publicKey }, context) {
      const address = context.values.get(peerKey)?.address ?? "";
      const newcomer = { code, deviceName: deviceName || namelessDevice, publicKey, address };
      const bound = await pairing.bind(newcomer, byDevice);
      if ("outcome" in bound) throw toConnectError(bound);
      const { events } = expectDone(bound.handled);
      return { token: bound.bearer, ...recorded(events, "tokenIssued", lease) };
    },

    async rotateToken(_request, context) {
      const caller = callerOf(context);
      if (caller.kind === "operator") throw toConnectError(refuse("unauthenticated")); // There is nothing to rotate.
      const { deviceId, tokenId } = caller.session;
      const newTokenId = ids.next();
      const { bearer, hash: newTokenHash } = issueToken(newTokenId);
      const at = clock.now();
      const provenance = provenanceOf(context);
      const command = { deviceId, tokenId, newTokenId, newTokenHash, at, provenance };
      const { events } = expectDone(await rotateToken(handling, command));
      return { token: bearer, ...recorded(events, "tokenIssued", lease) };
    },
  };
}

function deviceOf(context: HandlerContext): string | null {
  const caller = callerOf(context);
  return caller.kind === "device" ? caller.session.deviceId : null;
}

function lease({ deviceId, expiresAt, renewAfter }: PayloadOf<"tokenIssued">) {
  return { deviceId, expiresAt, renewAfter };
}

/** What an event of the command says, as far as the answer needs it. */
function recorded<T extends EventType, Answer>(
  events: readonly RecordedEvent[],
  type: T,
  pick: (payload: PayloadOf<T>) => Answer,
): Answer {
  const payload = events.find((event) => event.type === type)?.payload;
  if (payload == null) throw new Error(`the command has recorded no ${type}`);
  return pick(payload as PayloadOf<T>);
}
