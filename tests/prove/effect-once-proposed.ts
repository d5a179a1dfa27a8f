import { actionStream } from "../../commands/approvals/streams.js";
import { threadStream } from "../../commands/threads/streams.js";
import { propose, type ActingTool } from "../../domain/approvals/index.js";
import { Identity } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { appendTo } from "../support/backend.js";
import type { Life } from "./effect-once-life.js";
import type { FastTime } from "./effect-once-time.js";

const threadId = "thread";
const approvalMillis = 24 * 3_600_000;

/** An action that waits for the owner, and what they see of it. */
export interface Proposed {
  readonly actionId: string;
  readonly cardHash: Uint8Array;
  readonly plan: { readonly idempotencyKey: string; readonly args: { readonly to: string; readonly text: string } };
}

/** Proposes to post something, as a turn would record it. */
export async function proposeTo({ backend, ports }: Life, actionId: string, { clock }: FastTime): Promise<Proposed> {
  const args = { to: `somebody-${actionId}`, text: `Hello from ${actionId}.` };
  const idempotencyKey = `turn/1/${actionId}`;
  const wish = {
    ...{ actionId, toolCallId: `call-${actionId}`, idempotencyKey, args, identity: Identity.NONE },
    tool: ports.toolbox.find("post") as ActingTool<unknown>,
    ...{ justification: "It said so.", source: "chat", sourceId: "turn", supersedes: null },
  };
  const { hash, policyVersion } = ports;
  const expiresAt = clock.now() + approvalMillis;
  const fact = propose(wish, { hash, policyVersion, expiresAt, untrusted: [], ownerWords: [], isCutOff: false });
  if (backend.log.readStream(threadStream(threadId), 0, 1).length === 0) {
    await backend.log.append(appendTo(threadStream(threadId), threadId, { case: "threadCreated", value: {} }));
  }
  await backend.log.append(appendTo(actionStream(actionId), threadId, fact));
  const cardHash = fact.case === "proposedActionCreated" ? fact.value.cardHash : undefined;
  return { actionId, cardHash: cardHash ?? new Uint8Array(), plan: { idempotencyKey, args } };
}
