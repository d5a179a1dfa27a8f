/** One owner, one instance. */
export const owner = "owner";
