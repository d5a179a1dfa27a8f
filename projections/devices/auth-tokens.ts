import { authTokens } from "../../read-models/devices/index.js";
import type { Projection } from "../shared/projection.js";
import { textOf } from "../shared/time.js";

/** Tokens that may be good. One that is revoked, or whose device is, has no row. */
export const authTokensProjection: Projection = {
  name: "auth_tokens",
  version: 1,
  tables: [authTokens],
  on: {
    tokenIssued({ payload, occurredAt }, write) {
      if (payload === null) return;
      const { tokenId, deviceId, expiresAt, replacesTokenId, replacedValidUntil } = payload;
      write.insert(authTokens, {
        token_id: tokenId,
        device_id: deviceId,
        expires_at: textOf(expiresAt),
        valid_until: textOf(expiresAt),
        replaces_token_id: replacesTokenId || null,
        created_at: occurredAt,
      });
      if (replacesTokenId === "") return;
      write.update(authTokens, { token_id: replacesTokenId }, { valid_until: textOf(replacedValidUntil) });
    },
    tokenRevoked({ payload }, write) {
      if (payload !== null) write.delete(authTokens, { token_id: payload.tokenId });
    },
    deviceRevoked({ payload }, write) {
      if (payload !== null) write.delete(authTokens, { device_id: payload.deviceId });
    },
  },
};
