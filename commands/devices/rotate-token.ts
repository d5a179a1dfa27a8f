import { rotateToken as decideToRotate } from "../../domain/devices/index.js";
import type { Instant } from "../../domain/shared/index.js";
import type { Handled, Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { changeDevices } from "./change-devices.js";

export interface RotateToken {
  readonly deviceId: string;
  /** The one it is asked for with. */
  readonly tokenId: string;
  readonly newTokenId: string;
  readonly newTokenHash: Uint8Array;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function rotateToken(handling: Handling, command: RotateToken): Promise<Handled> {
  const { deviceId, tokenId, newTokenId, newTokenHash, at, provenance } = command;
  return changeDevices(handling, {
    at,
    provenance,
    keep: [{ id: newTokenId, value: newTokenHash }],
    decide: (devices) => decideToRotate(devices, deviceId, tokenId, newTokenId, at),
  });
}
