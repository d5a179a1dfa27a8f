/** All devices, their tokens and the codes to pair them: few and rarely changed, so one stream tells of all. */
export const devicesStream = "devices";

/** Never folded: whoever guesses makes it long. */
export const pairingAttemptsStream = "pairing-attempts";

/** Never folded, either. */
export const deviceUseStream = (deviceId: string): string => `device-use-${deviceId}`;
