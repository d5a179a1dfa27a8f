import { pairingAttempts } from "../../read-models/devices/index.js";
import { deleteErased } from "../shared/erased.js";
import type { Projection } from "../shared/projection.js";

export const pairingAttemptsProjection: Projection = {
  name: "pairing_attempts",
  version: 1,
  tables: [pairingAttempts],
  on: {
    pairingAttemptFailed({ payload, occurredAt, position }, write) {
      if (payload === null) return;
      const { address, reason } = payload;
      write.insert(pairingAttempts, { position, address, reason, occurred_at: occurredAt });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, pairingAttempts, {}, write);
    },
  },
};
