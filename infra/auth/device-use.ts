import type { Logger } from "pino";
import { confirmToken } from "../../commands/devices/confirm-token.js";
import { recordDeviceSeen } from "../../commands/devices/record-device-seen.js";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Provenance } from "../../commands/ports/index.js";
import { hour, type Instant } from "../../domain/shared/index.js";
import type { Session } from "./sessions.js";

/** How exactly the log knows when a device was last used: a request is no reason to write. */
const seenMillis = hour;

/** Keeps up with what devices do with their tokens, beside the requests: nobody waits for it. */
export class DeviceUse {
  readonly #seen = new Map<string, Instant>();
  readonly #confirmed = new Set<string>();

  constructor(
    private readonly handling: Handling,
    private readonly clock: Clock,
    private readonly byDevice: (deviceId: string) => Provenance,
    private readonly logger: Logger,
  ) {}

  note({ deviceId, tokenId, replacesTokenId }: Session): void {
    const at = this.clock.now();
    const provenance = this.byDevice(deviceId);
    if (at - (this.#seen.get(deviceId) ?? -Infinity) >= seenMillis) {
      this.#seen.set(deviceId, at);
      this.#do(recordDeviceSeen(this.handling, { deviceId, at, provenance }), () => this.#seen.delete(deviceId));
    }
    if (replacesTokenId !== null && !this.#confirmed.has(tokenId)) {
      this.#confirmed.add(tokenId);
      this.#do(confirmToken(this.handling, { deviceId, tokenId, at, provenance }), () =>
        this.#confirmed.delete(tokenId),
      );
    }
  }

  /** What could not be recorded is tried again with the next request. */
  #do(work: Promise<unknown>, tryAgain: () => void): void {
    work.catch((error: unknown) => {
      tryAgain();
      this.logger.warn({ error: String(error) }, "the use of a device could not be recorded");
    });
  }
}
