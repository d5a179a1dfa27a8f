export const threadStream = (threadId: string): string => `thread-${threadId}`;

/** All messages of a thread. It is never folded, so it may be long; apart, it keeps the thread's own stream short. */
export const messagesStream = (threadId: string): string => `messages-${threadId}`;
