import { devices } from "../../read-models/devices/index.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";

export const devicesProjection: Projection = {
  name: "devices",
  version: 1,
  tables: [devices],
  on: {
    devicePaired({ payload, occurredAt, position }, write) {
      if (payload === null) return;
      write.insert(devices, {
        device_id: payload.deviceId,
        user_id: owner,
        name: payload.name,
        public_key: payload.publicKey,
        revoked_at: null,
        revoked_reason: null,
        last_used_at: null,
        created_at: occurredAt,
        position,
      });
    },
    deviceSeen({ payload, occurredAt }, write) {
      if (payload !== null) write.update(devices, { device_id: payload.deviceId }, { last_used_at: occurredAt });
    },
    deviceRevoked({ payload, occurredAt }, write) {
      if (payload === null) return;
      const { deviceId, reason } = payload;
      write.update(devices, { device_id: deviceId }, { revoked_at: occurredAt, revoked_reason: reason });
    },
  },
};
