import { evolveDevices, initialDevices, obsoleteSecrets, type Devices } from "../../domain/devices/index.js";
import type { Decision, Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance, SecretChanges } from "../ports/index.js";
import { devicesStream } from "./streams.js";

interface Change {
  readonly at: Instant;
  readonly provenance: Provenance;
  readonly keep?: SecretChanges["keep"];
  readonly decide: (devices: Devices) => Decision;
}

/** Decides about the devices, and with the facts keeps the secrets they speak of and forgets those that are dead. */
export function changeDevices(handling: Handling, { at, provenance, keep = [], decide }: Change): Promise<Handled> {
  return handle(handling, {
    at,
    decide: (load) => {
      const devices = load(devicesStream, initialDevices, evolveDevices);
      const decision = decide(devices);
      const facts = decision.outcome === "accepted" ? decision.facts : [];
      const secrets = { keep, forget: obsoleteSecrets(devices, facts) };
      return { stream: devicesStream, threadId: null, provenance, decision, secrets };
    },
  });
}
