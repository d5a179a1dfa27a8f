import { revokeDevice as decideToRevoke } from "../../domain/devices/index.js";
import type { Instant } from "../../domain/shared/index.js";
import type { Handled, Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { changeDevices } from "./change-devices.js";

export interface RevokeDevice {
  readonly deviceId: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function revokeDevice(handling: Handling, { deviceId, at, provenance }: RevokeDevice): Promise<Handled> {
  return changeDevices(handling, { at, provenance, decide: (devices) => decideToRevoke(devices, deviceId) });
}
