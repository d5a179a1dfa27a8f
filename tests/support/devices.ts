import { toTimestamp, type Instant, type NewFact } from "../../domain/shared/index.js";

const day = 86_400_000;

export function codeCreated(pairingId: string, expiresAt: Instant, createdByDeviceId = ""): NewFact {
  return { case: "pairingCodeCreated", value: { pairingId, expiresAt: toTimestamp(expiresAt), createdByDeviceId } };
}

export function paired(deviceId: string, pairingId: string, name = "phone", publicKey = ""): NewFact {
  return { case: "devicePaired", value: { deviceId, name, publicKey, pairingId } };
}

export function revoked(deviceId: string, reason = "owner"): NewFact {
  return { case: "deviceRevoked", value: { deviceId, reason } };
}

/** A token of thirty days, in place of another if one is given. */
export function issued(
  deviceId: string,
  tokenId: string,
  at: Instant,
  replaced?: { readonly tokenId: string; readonly validUntil: Instant },
): NewFact {
  return {
    case: "tokenIssued",
    value: {
      tokenId,
      deviceId,
      expiresAt: toTimestamp(at + 30 * day),
      renewAfter: toTimestamp(at + 15 * day),
      ...(replaced && { replacesTokenId: replaced.tokenId, replacedValidUntil: toTimestamp(replaced.validUntil) }),
    },
  };
}

export function tokenRevoked(deviceId: string, tokenId: string): NewFact {
  return { case: "tokenRevoked", value: { tokenId, deviceId, reason: "rotated" } };
}
