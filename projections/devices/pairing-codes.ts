import { pairingCodes } from "../../read-models/devices/index.js";
import type { Projection } from "../shared/projection.js";
import { textOf } from "../shared/time.js";

export const pairingCodesProjection: Projection = {
  name: "pairing_codes",
  version: 1,
  tables: [pairingCodes],
  on: {
    pairingCodeCreated({ payload, occurredAt, position }, write) {
      if (payload === null) return;
      write.insert(pairingCodes, {
        pairing_id: payload.pairingId,
        created_by: payload.createdByDeviceId || null,
        expires_at: textOf(payload.expiresAt),
        used_at: null,
        created_at: occurredAt,
        position,
      });
    },
    deviceRevoked({ payload }, write) {
      if (payload !== null) write.delete(pairingCodes, { created_by: payload.deviceId });
    },
    devicePaired({ payload, occurredAt }, write) {
      if (payload !== null) write.update(pairingCodes, { pairing_id: payload.pairingId }, { used_at: occurredAt });
    },
  },
};
