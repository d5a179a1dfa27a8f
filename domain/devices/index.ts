export {
  attemptsMax,
  attemptsPerAddressMax,
  attemptWindowMillis,
  refuseAttempt,
  type FailedAttempt,
} from "./attempts.js";
export {
  bindPairingCode,
  confirmToken,
  createPairingCode,
  evolveDevices,
  initialDevices,
  livePairingsMax,
  obsoleteSecrets,
  revokeDevice,
  rotateToken,
  type Binding,
  type Devices,
} from "./devices.js";
