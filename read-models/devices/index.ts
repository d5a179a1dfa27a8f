export { authTokens, findToken, type AuthTokenRow } from "./auth-tokens.js";
export { devices, hasActiveDevices, isActiveDevice, listDevices, type DeviceRow } from "./devices.js";
export { listFailedAttempts, pairingAttempts, type PairingAttemptRow } from "./pairing-attempts.js";
export { listOpenPairingCodes, pairingCodes, type PairingCodeRow } from "./pairing-codes.js";
