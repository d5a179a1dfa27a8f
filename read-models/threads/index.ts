export {
  findLastAnswer,
  findMessage,
  listLatestMessages,
  listMessages,
  listMessagesOfTurns,
  messages,
  type MessageRow,
} from "./messages.js";
export { listTalk } from "./talk.js";
export { hasThread, listThreads, threads, type ThreadRow } from "./threads.js";
export { findTurn, listPausedTurns, listTurnsEndedSince, listUnfinishedTurns, turns, type TurnRow } from "./turns.js";
