import { accept, nothing, type Decision, type Fact } from "../shared/index.js";

/** The version of the policy that was recorded last; empty if none was, or it was erased. */
export type PolicyVersion = string;

export const initialPolicyVersion: PolicyVersion = "";

export function evolvePolicyVersion(version: PolicyVersion, fact: Fact): PolicyVersion {
  return fact.case === "auditEventRecorded" ? (fact.value?.entryId ?? initialPolicyVersion) : version;
}

/** From here on other rules hold. */
export function changePolicy(known: PolicyVersion, version: PolicyVersion): Decision {
  if (known === version) return nothing;
  return accept({ case: "auditEventRecorded", value: { entryId: version, eventType: "policy_changed" } });
}
