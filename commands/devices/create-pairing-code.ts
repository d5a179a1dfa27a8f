import { createPairingCode as decideToCreate } from "../../domain/devices/index.js";
import type { Instant } from "../../domain/shared/index.js";
import type { Handled, Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { changeDevices } from "./change-devices.js";

export interface CreatePairingCode {
  readonly pairingId: string;
  readonly codeHash: Uint8Array;
  /** The device that asks for it; null if the operator does. */
  readonly createdBy: string | null;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function createPairingCode(
  handling: Handling,
  { pairingId, codeHash, createdBy, at, provenance }: CreatePairingCode,
): Promise<Handled> {
  return changeDevices(handling, {
    at,
    provenance,
    keep: [{ id: pairingId, value: codeHash }],
    decide: (devices) => decideToCreate(devices, pairingId, createdBy, at),
  });
}
