import { accept, type Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { pairingAttemptsStream } from "./streams.js";

export interface FailedPairing {
  readonly reason: string;
  readonly address: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function recordFailedAttempt(
  handling: Handling,
  { reason, address, at, provenance }: FailedPairing,
): Promise<Handled> {
  const decision = accept({ case: "pairingAttemptFailed", value: { reason, address } });
  return handle(handling, {
    at,
    decide: () => ({ stream: pairingAttemptsStream, threadId: null, provenance, decision }),
  });
}
