import { changePolicy, evolvePolicyVersion, initialPolicyVersion } from "../../domain/audit/index.js";
import type { Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";

const policyStream = "policy";

export interface RecordPolicy {
  /** Of the policy that holds from now on. */
  readonly version: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

/** Records which rules hold, if they are others than before: who comes later can see when that changed. */
export function recordPolicy(handling: Handling, { version, at, provenance }: RecordPolicy): Promise<Handled> {
  return handle(handling, {
    at,
    decide: (load) => {
      const known = load(policyStream, initialPolicyVersion, evolvePolicyVersion);
      return { stream: policyStream, threadId: null, provenance, decision: changePolicy(known, version) };
    },
  });
}
