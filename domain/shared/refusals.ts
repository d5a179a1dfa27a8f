/** Every way Pincer says no. `docs/errors.md` lists them; a test compares. */
export const refusals = {
  thread_not_found: "There is no such thread.",
  thread_deleted: "The thread was deleted.",
  text_empty: "The text is empty.",
  text_too_long: "The text is longer than the limit.",
  text_malformed: "The text is not well-formed Unicode.",
  pairing_code_invalid: "The pairing code is unknown, used or expired.",
  pairing_rate_limited: "Too many attempts to pair; wait before the next one.",
  public_key_invalid: "The public key is neither a P-256 nor an Ed25519 key.",
  device_not_found: "There is no such device.",
  device_revoked: "The device was revoked.",
  unauthenticated: "The bearer token is missing, malformed, unknown, expired or revoked.",
  too_many_streams: "The device has as many open streams as it may.",
  page_token_invalid: "The page token is none that this server has issued for this list.",
  sequence_invalid: "The sequence or position is beyond what can be counted.",
  interval_out_of_range: "The interval is shorter or longer than allowed.",
  value_unknown: "A field has a value that this server does not know.",
  reasoning_not_allowed: "The policy does not allow to show a model's raw reasoning.",
  turn_in_progress: "Another turn of the thread is in progress.",
  turn_queue_full: "As many turns of the thread are waiting as may.",
  turn_not_active: "The turn has ended, or has not begun.",
  turn_failed: "The turn has failed.",
  turn_unfinished: "The turn has not ended yet. It goes on; ask again, or watch the thread.",
  command_reused: "The idempotency key was used before, with other content.",
  too_much_contention: "Others kept changing the same thing; nothing was recorded. Try again.",
} as const;

export type RefusalCode = keyof typeof refusals;
