import { bindPairingCode as decideToBind, type Binding } from "../../domain/devices/index.js";
import type { Instant } from "../../domain/shared/index.js";
import type { Handled, Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { changeDevices } from "./change-devices.js";

export interface BindPairingCode extends Binding {
  readonly tokenHash: Uint8Array;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function bindPairingCode(
  handling: Handling,
  { tokenHash, at, provenance, ...binding }: BindPairingCode,
): Promise<Handled> {
  return changeDevices(handling, {
    at,
    provenance,
    keep: [{ id: binding.tokenId, value: tokenHash }],
    decide: (devices) => decideToBind(devices, binding, at),
  });
}
