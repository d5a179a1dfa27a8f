import { confirmToken as decideToConfirm } from "../../domain/devices/index.js";
import type { Instant } from "../../domain/shared/index.js";
import type { Handled, Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { changeDevices } from "./change-devices.js";

export interface ConfirmToken {
  readonly deviceId: string;
  readonly tokenId: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

/** A token was used for the first time: it has arrived. */
export function confirmToken(
  handling: Handling,
  { deviceId, tokenId, at, provenance }: ConfirmToken,
): Promise<Handled> {
  return changeDevices(handling, { at, provenance, decide: (devices) => decideToConfirm(devices, deviceId, tokenId) });
}
