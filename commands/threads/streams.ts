export const threadStream = (threadId: string): string => `thread-${threadId}`;
export const messageStream = (messageId: string): string => `message-${messageId}`;
