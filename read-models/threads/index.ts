export { listLatestMessages, listMessages, messages, type MessageRow } from "./messages.js";
export { hasThread, listThreads, threads, type ThreadRow } from "./threads.js";
