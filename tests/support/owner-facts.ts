import { deviceUseStream, devicesStream, pairingAttemptsStream } from "../../commands/devices/streams.js";
import {
  bindPairingCode,
  confirmToken,
  createPairingCode,
  revokeDevice,
  rotateToken,
  type Devices,
} from "../../domain/devices/index.js";
import { accept, nothing, type Decision, type NewFact } from "../../domain/shared/index.js";
import { noon } from "./appends.js";

export const ownerFactKinds = [
  "code",
  "paired",
  "seen",
  "rotated",
  "confirmed",
  "revoked",
  "guessed",
  "remembered",
  "configured",
] as const;
export type OwnerFactKind = (typeof ownerFactKinds)[number];

/** Few, so that pairing one more replaces another now and then. */
const activeDevicesMax = 2;

/** What the domain records of the owner's own affairs when this happens, and where: nothing, where it refuses. */
export function ownerFacts(
  state: Devices,
  kind: OwnerFactKind,
  name: string,
): { readonly stream: string; readonly facts: readonly NewFact[] } {
  const [deviceId, tokens] = firstActive(state);
  const stream = streamOf(kind, deviceId);
  const decision = decide();
  return { stream, facts: decision.outcome === "accepted" ? decision.facts : [] };

  function decide(): Decision {
    switch (kind) {
      case "code":
        return createPairingCode(state, name, deviceId || null, noon);
      case "paired": {
        const pairingId = state.pairings[0]?.id ?? null;
        const device = { deviceId: name, tokenId: `token ${name}`, name, publicKey: `key ${name}` };
        return bindPairingCode(state, { ...device, pairingId, activeDevicesMax }, noon);
      }
      case "seen":
        return deviceId === "" ? nothing : accept({ case: "deviceSeen", value: { deviceId } });
      case "rotated":
        return rotateToken(state, deviceId, tokens[0] ?? "", `token ${name}`, noon);
      case "confirmed":
        return confirmToken(state, deviceId, tokens.at(-1) ?? "");
      case "revoked":
        return revokeDevice(state, deviceId);
      case "guessed":
        return accept({ case: "pairingAttemptFailed", value: { reason: "unknown_code", address: name } });
      case "remembered":
        return accept({ case: "agentMemoryUpdated", value: { content: name } });
      case "configured":
        return accept({
          case: "heartbeatConfigured",
          value: { enabled: true, intervalMinutes: 30, tasksMarkdown: name },
        });
    }
  }
}

function streamOf(kind: OwnerFactKind, deviceId: string): string {
  switch (kind) {
    case "seen":
      return deviceUseStream(deviceId);
    case "guessed":
      return pairingAttemptsStream;
    case "remembered":
    case "configured":
      return kind;
    default:
      return devicesStream;
  }
}

function firstActive({ devices }: Devices): [string, string[]] {
  for (const [id, device] of devices) {
    if (device.status === "active") return [id, device.tokens.map((token) => token.id)];
  }
  return ["", []];
}
