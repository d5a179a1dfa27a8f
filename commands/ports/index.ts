export type { Clock } from "./clock.js";
export type { Conversation, Conversations, EndedTurn, Said, Summary, TokenUsage, Utterance } from "./conversation.js";
export type {
  Append,
  Appended,
  AppendResult,
  CommandConflict,
  CommandKey,
  EventLog,
  ExpectedVersion,
  JsonValue,
  Provenance,
  SecretChanges,
  Secrets,
  StreamWrite,
  VersionConflict,
} from "./event-log.js";
export type { Ids } from "./ids.js";
export {
  ModelError,
  type Model,
  type ModelAnswer,
  type ModelDelta,
  type ModelMessage,
  type ModelRequest,
  type ModelTool,
} from "./model.js";
export type { ActionPlace, Lookups } from "./lookups.js";
export type { Random } from "./random.js";
export type { ReadModels } from "./read-models.js";
export type { Timers } from "./timers.js";
