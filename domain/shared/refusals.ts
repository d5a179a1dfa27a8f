/** Every way Pincer says no. `docs/errors.md` lists them; a test compares. */
export const refusals = {
  thread_not_found: "There is no such thread.",
  thread_deleted: "The thread was deleted.",
  text_empty: "The text is empty.",
  text_too_long: "The text is longer than the limit.",
  text_malformed: "The text is not well-formed Unicode.",
  command_reused: "The idempotency key was used before, with other content.",
  too_much_contention: "Others kept changing the same thing; nothing was recorded. Try again.",
} as const;

export type RefusalCode = keyof typeof refusals;
