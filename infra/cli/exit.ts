/** How the command line ends: fine, a check or the work failed, or it was asked for something that makes no sense. */
export const exitCodes = { fine: 0, failed: 1, usage: 2 } as const;

/** The command was called in a way that makes no sense. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
