export { authTokensProjection } from "./auth-tokens.js";
export { devicesProjection } from "./devices.js";
export { pairingAttemptsProjection } from "./pairing-attempts.js";
export { pairingCodesProjection } from "./pairing-codes.js";
