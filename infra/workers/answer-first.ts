/** A worker that begins in the same breath as the commit that woke it keeps waiting who has made that commit. */
export const answerMillis = 2;
