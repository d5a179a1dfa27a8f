export { commitMessage, messageTextBytesMax, type MessageDraft } from "./message.js";
export { createThread, deleteThread, evolveThread, initialThread } from "./thread.js";
export { callsPerStepMax, normalise } from "./model-output.js";
export { titleOf } from "./title.js";
export { fenced, withoutRemoteImages } from "./untrusted.js";
