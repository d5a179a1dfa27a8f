import { Code, ConnectError } from "@connectrpc/connect";
import type { Handled } from "../../commands/handle.js";
import { refusals, type Refusal, type RefusalCode } from "../../domain/shared/index.js";
import { RefusalDetailSchema } from "../../proto/gen/pincer/protocol/v1/errors_pb.js";

/** What each refusal is on the wire. */
export const codes: Readonly<Record<RefusalCode, Code>> = {
  thread_not_found: Code.NotFound,
  thread_deleted: Code.FailedPrecondition,
  text_empty: Code.InvalidArgument,
  text_too_long: Code.InvalidArgument,
  text_malformed: Code.InvalidArgument,
  pairing_code_invalid: Code.PermissionDenied,
  pairing_rate_limited: Code.ResourceExhausted,
  public_key_invalid: Code.InvalidArgument,
  device_not_found: Code.NotFound,
  device_revoked: Code.Unauthenticated,
  unauthenticated: Code.Unauthenticated,
  too_many_streams: Code.ResourceExhausted,
  page_token_invalid: Code.InvalidArgument,
  sequence_invalid: Code.InvalidArgument,
  interval_out_of_range: Code.InvalidArgument,
  value_unknown: Code.InvalidArgument,
  reasoning_not_allowed: Code.PermissionDenied,
  turn_in_progress: Code.FailedPrecondition,
  turn_queue_full: Code.ResourceExhausted,
  turn_not_active: Code.FailedPrecondition,
  turn_failed: Code.Aborted,
  turn_unfinished: Code.DeadlineExceeded,
  action_not_found: Code.NotFound,
  action_arguments_invalid: Code.InvalidArgument,
  approval_expired: Code.FailedPrecondition,
  card_changed: Code.Aborted,
  policy_changed: Code.FailedPrecondition,
  too_many_revisions: Code.FailedPrecondition,
  action_already_approved: Code.FailedPrecondition,
  action_already_rejected: Code.FailedPrecondition,
  action_not_approved: Code.FailedPrecondition,
  action_not_due: Code.FailedPrecondition,
  action_not_begun: Code.FailedPrecondition,
  action_already_begun: Code.FailedPrecondition,
  action_not_unknown: Code.FailedPrecondition,
  action_already_settled: Code.FailedPrecondition,
  idempotency_conflict: Code.Aborted,
  too_many_actions: Code.InvalidArgument,
  notification_not_found: Code.NotFound,
  command_reused: Code.AlreadyExists,
  too_much_contention: Code.Aborted,
};

/** The refusal as clients get it: its code and facts are in a typed detail. */
export function toConnectError({ code, facts }: Refusal): ConnectError {
  const detail = {
    code,
    facts: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, String(value)])),
  };
  return new ConnectError(refusals[code], codes[code], undefined, [{ desc: RefusalDetailSchema, value: detail }]);
}

/** What was recorded; a refusal is thrown as its error. */
export function expectDone(handled: Handled): Extract<Handled, { outcome: "done" }> {
  if (handled.outcome === "refused") throw toConnectError(handled);
  return handled;
}

/** The code of the refusal that an error stands for; null if it is none. */
export function refusalOf(error: ConnectError): string | null {
  return error.findDetails(RefusalDetailSchema)[0]?.code ?? null;
}
