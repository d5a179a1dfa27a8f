export { listMessages, messages, type MessageRow } from "./messages.js";
export { listThreads, threads, type ThreadRow } from "./threads.js";
