import type { JsonObject } from "@bufbuild/protobuf";
import { Identity, RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { toInstant, type Instant, type Told } from "../shared/index.js";

/** Exactly what would be done, as it was shown to the owner. */
export interface ActionPlan {
  readonly actionId: string;
  readonly tool: string;
  readonly toolVersion: number;
  readonly args: JsonObject;
  /** What an approval binds: arguments, tool, version, identity and policy. */
  readonly argsHash: Uint8Array;
  readonly identity: Identity;
  readonly risk: RiskClass;
  readonly policyVersion: string;
  readonly idempotencyKey: string;
  readonly cardHash: Uint8Array;
  readonly expiresAt: Instant;
  readonly undoSeconds: number;
  readonly revision: number;
  /** The call of a model that it comes from. */
  readonly toolCallId: string;
  readonly source: string;
  readonly sourceId: string;
  readonly justification: string;
  /** What the owner was shown. */
  readonly preview: JsonObject;
}

type Proposed = Extract<Told, { case: "proposedActionCreated" }>["value"];

export function planOf(proposed: Proposed): ActionPlan {
  const expires = proposed?.expiresAt;
  return {
    actionId: proposed?.actionId ?? "",
    tool: proposed?.tool ?? "",
    toolVersion: proposed?.toolVersion ?? 0,
    args: proposed?.args ?? {},
    argsHash: proposed?.argsHash ?? new Uint8Array(),
    identity: proposed?.identity ?? Identity.UNSPECIFIED,
    risk: proposed?.riskClass ?? RiskClass.RISK_CLASS_UNSPECIFIED,
    policyVersion: proposed?.policyVersion ?? "",
    idempotencyKey: proposed?.idempotencyKey ?? "",
    cardHash: proposed?.cardHash ?? new Uint8Array(),
    // Of one that was erased nothing is known, so nobody can approve it any more.
    expiresAt: expires === undefined ? 0 : toInstant({ seconds: expires.seconds ?? 0n, nanos: expires.nanos ?? 0 }),
    undoSeconds: proposed?.undoSeconds ?? 0,
    revision: proposed?.revision ?? 1,
    toolCallId: proposed?.toolCallId ?? "",
    source: proposed?.source ?? "",
    sourceId: proposed?.sourceId ?? "",
    justification: proposed?.justification ?? "",
    preview: proposed?.preview ?? {},
  };
}
