export const threadStream = (threadId: string): string => `thread-${threadId}`;

/** All messages of a thread. It is never folded, so it may be long; apart, it keeps the thread's own stream short. */
export const messagesStream = (threadId: string): string => `messages-${threadId}`;

/** Which turns of a thread began, wait and ended. */
export const turnsStream = (threadId: string): string => `turns-${threadId}`;

/** What was done in a turn, step by step. */
export const turnStream = (turnId: string): string => `turn-${turnId}`;

/** What the model said while it said it. It is never folded. */
export const turnOutputStream = (turnId: string): string => `turn-output-${turnId}`;

export const summariesStream = (threadId: string): string => `summaries-${threadId}`;
