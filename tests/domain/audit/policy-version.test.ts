import { expect, test } from "@jest/globals";
import { changePolicy, evolvePolicyVersion, initialPolicyVersion } from "../../../domain/audit/index.js";
import type { NewFact } from "../../../domain/shared/index.js";
import { given } from "../../support/given.js";

const policy = { initial: initialPolicyVersion, evolve: evolvePolicyVersion };
const changedTo = (version: string): NewFact => ({
  case: "auditEventRecorded",
  value: { entryId: version, eventType: "policy_changed" },
});

test("the first policy is recorded", () => {
  given(policy).when(changePolicy, "one").thenRecords(changedTo("one"));
});

test("the same policy again is no news", () => {
  given(policy, changedTo("one")).when(changePolicy, "one").thenDoesNothing();
});

test("another policy is recorded, also if it held before", () => {
  given(policy, changedTo("one")).when(changePolicy, "two").thenRecords(changedTo("two"));
  given(policy, changedTo("one"), changedTo("two")).when(changePolicy, "one").thenRecords(changedTo("one"));
});

test("a record that was erased says nothing, and the policy is recorded anew", () => {
  const known = evolvePolicyVersion("one", { case: "auditEventRecorded", value: null });
  expect(known).toBe(initialPolicyVersion);
});
