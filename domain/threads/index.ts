export { commitMessage, messageTextBytesMax, type MessageDraft } from "./message.js";
export { createThread, deleteThread, evolveThread, initialThread } from "./thread.js";
